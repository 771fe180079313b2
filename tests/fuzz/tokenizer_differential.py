#!/usr/bin/env python3
"""Compares `octet tokenize` with the reference tokenizer library on generated strings.

Needs the network once: PyPI's `tokenizers` goes into a virtual environment that is deleted afterwards. Nothing else in
the repository depends on it. Prints the seed and every difference; exit code 1 if there is any."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

LIBRARY = "tokenizers==0.22.2"  # the release the recorded vectors come from
FRAGMENTS = (
    " ", "  ", "    ", "\n", "\r\n", "\n\n\n", "\t", "\u00a0", "\u0085", "\u2028", "\u3000", "\u200b", "\u200d",
    "\ufeff", "\u180e", "\x00", "\x1c", "\x7f", "a", "Word", "hello", "DON'T", "'ll", "naïve", "e\u0301", "\u0301",
    "Straße", "ﬁ", "ǅ", "7", "12345", "½", "१२३४", "①", "Ⅻ", "٣", ".", "...", "=-", "'", "(x)", "://", "%20",
    "{\"a\":1}", "#!",
    "日本", "かな", "カナ", "・", "゛", "゜", "゠", "中文字", "龥龦", "㐀", "。", "！", "한국어", "привет", "שלום", "العربية",
    "ไทย", "हिन्दी", "👍🏽", "👨‍👩‍👧", "☺️", "€", "©", "∑", "𝒳", "𐍈", "\U0001fae8", "<", "</", "<｜", "｜>", "｜", "<｜User｜>",
    "<｜Assistant｜>", "<｜User", "<think>", "</think>", "<think >", "｜DSML｜", "<｜DSML｜", "<dsml:", "</dsml:",
    "<｜end▁of▁sentence｜>", "<｜begin▁of▁sentence｜>", "<｜place▁holder▁no▁7｜>", "<|EOT|>", "<｜/table>｜",
    "<|place_holder_mm_span_0021|>", "▁", "_",
)


def code_point(rng):
    """Any scalar value; half of them from the planes that are in use."""
    c = rng.randrange(0x3400 if rng.random() < 0.5 else 0x110000 - 0x800)
    return chr(c + 0x800 if c >= 0xD800 else c)


def text_of(rng):
    kind = rng.random()
    if kind < 0.05:  # one thing over and over
        return rng.choice(FRAGMENTS) * rng.randrange(1, 200)
    pieces = []
    for _ in range(rng.randrange(0, 30)):
        pieces.append(rng.choice(FRAGMENTS) if rng.random() < 0.8 else code_point(rng))
        if rng.random() < 0.15:
            pieces.append("".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randrange(1, 12))))
    return "".join(pieces)


def compare(model, texts_path, ids_path):
    """Runs inside the virtual environment: prints differences, returns how many there are."""
    from tokenizers import Tokenizer  # pylint: disable=import-error,import-outside-toplevel

    reference = Tokenizer.from_file(str(pathlib.Path(model) / "tokenizer.json"))
    differences = 0
    with open(texts_path, encoding="utf-8") as texts, open(ids_path, encoding="utf-8") as ids:
        for text_line, ids_line in zip(texts, ids, strict=True):
            text = json.loads(text_line)["text"]
            expected = reference.encode(text, add_special_tokens=False).ids
            got = json.loads(ids_line).get("ids")
            if got != expected:
                differences += 1
                if differences <= 20:
                    print(f"DIFFERENT {text!r}\n  expected {expected}\n  got      {got}")
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", help="the program")
    parser.add_argument("--model", required=True, help="folder with tokenizer.json")
    parser.add_argument("--count", type=int, default=50000, help="strings to compare (default: 50000)")
    parser.add_argument("--seed", type=int, default=None, help="default: the clock")
    parser.add_argument("--compare", nargs=2, metavar=("TEXTS", "IDS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compare:
        sys.exit(1 if compare(arguments.model, *arguments.compare) else 0)
    if not arguments.octet:
        parser.error("--octet is required")

    seed = int(time.time()) if arguments.seed is None else arguments.seed
    print(f"seed {seed}, {arguments.count} strings", flush=True)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="octet-differential-") as folder:
        texts, ids, venv = (pathlib.Path(folder) / name for name in ("texts.jsonl", "ids.jsonl", "venv"))
        with open(texts, "w", encoding="utf-8") as out:
            for _ in range(arguments.count):
                out.write(json.dumps({"text": text_of(rng)}, ensure_ascii=rng.random() < 0.5) + "\n")
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        python = str(venv / "bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", LIBRARY], check=True)
        tokenize = [arguments.octet, "tokenize", "-m", arguments.model, "-i", str(texts), "-o", str(ids)]
        subprocess.run(tokenize, check=True)
        comparison = [python, __file__, "--model", arguments.model, "--compare", str(texts), str(ids)]
        done = subprocess.run(comparison, check=False)
    print("differences found" if done.returncode else f"{arguments.count} strings, 0 differences")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
