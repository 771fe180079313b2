"""The needle prompts: random sentences, one number to find, a question at the end; the same text on every machine.
Every length is given in tokens, so the number of sentences is searched with octet's own tokenizer."""
import re

from octet_eval.files import EvalError
from octet_eval.gsm8k_prompts import ASSISTANT, BOS, USER

MASK = (1 << 64) - 1
WORDS = """anchor basin candle delta ember fabric garden harbor island jungle kettle lantern meadow nectar
orchard pebble quarry ribbon saddle timber umbrella valley willow yellow zephyr bridge copper dragon
engine forest glacier hammer insect jacket kingdom ladder marble needle ocean pillow quiver rocket
silver tunnel utopia velvet window xenon yonder zigzag autumn blossom canyon desert eclipse feather
granite horizon iceberg jasmine karma lagoon mosaic nickel""".split()
WORDS_PER_SENTENCE, SENTENCES_PER_LINE = 12, 8


class SplitMix64:
    def __init__(self, seed):
        self.state = seed & MASK

    def below(self, k):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % k


class Haystack:
    """All prompts of one seed: its generator gives key and value, then as many sentences as are asked for."""

    def __init__(self, seed):
        self.rng = SplitMix64(seed)
        self.key = f"vault-{self.rng.below(65536):04x}"
        self.value = str(1000000 + self.rng.below(9000000))
        self.sentences = []

    def grow(self, n):
        while len(self.sentences) < n:
            words = [WORDS[self.rng.below(len(WORDS))] for _ in range(WORDS_PER_SENTENCE)]
            self.sentences.append(" ".join(words).capitalize() + ".")

    def text(self, n, depth):
        """n sentences with the needle before sentence floor(n * depth / 100)."""
        self.grow(n)
        at = n * depth // 100
        needle = f"The secret access number for {self.key} is {self.value}."
        sentences = self.sentences[:at] + [needle] + self.sentences[at:n]
        lines = [sentences[i:i + SENTENCES_PER_LINE] for i in range(0, len(sentences), SENTENCES_PER_LINE)]
        return "\n".join(" ".join(line) for line in lines)

    def prompt(self, n, depth):
        """The whole prompt, BOS to </think>."""
        question = f"What is the secret access number for {self.key}? Reply with the number only."
        return f"{BOS}{USER}{self.text(n, depth)}\n\nQuestion: {question}{ASSISTANT}</think>"


def largest_fit(target, prompt_of, count_all):
    """The largest n whose prompt has at most `target` tokens, and that number of tokens. `count_all` takes a list of
    prompts. Length grows almost evenly with n, so a straight line finds the place in a few calls; the last one has
    seen n fit and n + 1 not."""
    known = {}

    def count(*sizes):
        fresh = [n for n in sizes if n not in known]
        known.update(zip(fresh, count_all([prompt_of(n) for n in fresh])))

    count(0, 100)
    slope = (known[100] - known[0]) / 100
    if known[0] > target:
        raise EvalError(f"{target} tokens do not even hold the question ({known[0]})")
    while True:
        low = max(n for n, tokens in known.items() if tokens <= target)
        high = min((n for n, tokens in known.items() if tokens > target), default=None)
        if high == low + 1:
            return low, known[low]
        guess = low + int((target - known[low]) / slope)
        guess = max(low + 1, guess)
        if high is not None:
            guess = min(guess, high - 1)
        count(guess, guess + 1)


def is_found(text, value):
    """The first run of at least as many digits as the value has is the value."""
    digits = re.search(r"[0-9]{%d,}" % len(value), text.replace(",", ""))
    return bool(digits) and digits[0] == value


def score(text, value):
    return {"found": is_found(text, value), "contains": value in text.replace(",", ""), "exact": text.strip() == value}
