#!/usr/bin/env python3
"""Prints prompts beside their completions and the figures of a run: what scripts/demo.sh shows at its end."""
import argparse
import json
import re
import sys


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def question_of(prompt):
    """The last question of a prompt, without special tokens and labels."""
    plain = re.sub(r"<[｜/]?[^<>]*>", "", prompt).strip()
    return re.sub(r"\s*Answer:$", "", plain.split("Question:")[-1].strip()).strip()


def show(prompts, completions):
    by_id = {line["id"]: line for line in completions}
    failed = 0
    for prompt in prompts:
        line = by_id.get(prompt["id"])
        print(f"\n[{prompt['id']}] {question_of(prompt['prompt'])}")
        if line is None or line.get("error"):
            failed += 1
            print(f"    failed: {line['error'] if line else 'no output line'}")
            continue
        print("    " + line["text"].strip().replace("\n", "\n    "))
        timing, usage = line["timing"], line["usage"]
        print(f"    ({usage['prompt_tokens']} + {usage['completion_tokens']} tokens, first after "
              f"{timing['ttft_ms']:.0f} ms, all after {timing['total_ms']:.0f} ms; {line['finish_reason']})")
    return failed


def show_summary(summary):
    """One figure per line; lists (one entry per rank) by their length."""
    print("\nsummary")
    for name, value in summary.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {part}" for key, part in value.items()) or "none"
        elif isinstance(value, list):
            value = f"{len(value)} entries"
        print(f"    {name:<28}{value}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompts", help="JSONL given to octet generate")
    parser.add_argument("completions", help="JSONL it wrote")
    parser.add_argument("--summary", help="JSON of --summary")
    arguments = parser.parse_args()
    failed = show(read_lines(arguments.prompts), read_lines(arguments.completions))
    if arguments.summary:
        with open(arguments.summary, encoding="utf-8") as file:
            show_summary(json.load(file))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
