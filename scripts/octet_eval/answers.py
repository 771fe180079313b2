"""The final number of a response, by the filters of lm-evaluation-harness, and whether it equals the target.
Every rule works on strings: 18.00 is not 18 here, because it is not there either."""
import re

INVALID = "[invalid]"
STRICT = re.compile(r"#### (\-?[0-9\.\,]+)")
COT_STRICT = re.compile(r"The answer is (\-?[0-9\.\,]+).")
FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")


def first_match(pattern, response):
    found = pattern.search(response)
    return found[1].strip() if found else INVALID


def strict(response):
    return first_match(STRICT, response)


def cot_strict(response):
    return first_match(COT_STRICT, response)


def flexible(response):
    """The last number, even if it is part of a remark after the answer."""
    found = INVALID
    for match in FLEXIBLE.finditer(response):
        found = (match[1] or match[2]).strip()
    return found


def boxed(response):
    r"""The content of the last \boxed{...} whose braces close; braces may nest."""
    found = INVALID
    for match in re.finditer(r"\\boxed\s*\{", response):
        depth = 1
        for end in range(match.end(), len(response)):
            depth += {"{": 1, "}": -1}.get(response[end], 0)
            if depth == 0:
                found = response[match.end():end].strip() or INVALID
                break
    return found


FILTERS = {
    "gsm8k": {"strict-match": strict, "flexible-extract": flexible, "boxed": boxed},
    "gsm8k_cot": {"strict-match": cot_strict, "flexible-extract": flexible, "boxed": boxed},
    "plain": {"strict-match": strict, "flexible-extract": flexible, "boxed": boxed},
}


def normalise(text):
    """What exact_match compares. The order of the removals is part of the rule."""
    text = text.replace(",", "").replace("$", "")
    text = re.sub(r"(?s).*#### ", "", text)
    return re.sub(r"\.$", "", text).lower()


def is_correct(extracted, target):
    return extracted != INVALID and normalise(extracted) == normalise(target)
