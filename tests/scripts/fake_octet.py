#!/usr/bin/env python3
"""Stands for octet where the scripts are tested: answers from the word problems and needles, figures made up.
FAKE_FAULT breaks one thing: wrong, repeat, slow, error, crash, tools."""
import json
import os
import pathlib
import sys

WORDS = pathlib.Path(__file__).resolve().parents[1] / "data" / "wordmaths"
FAULT = os.environ.get("FAKE_FAULT", "")


def rows_of(path):
    return [json.loads(row) for row in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if row]


def text_for(line, known):
    if line.get("ignore_eos"):
        text = "again and " * 40 if FAULT == "repeat" else " ".join(f"{line['id']}-{i}" for i in range(30))
    else:
        text = next((answer for question, answer in known.items() if question in line["prompt"]), "nothing")
    return "17" if FAULT == "wrong" else text


def message_for(line):
    if line["messages"][-1]["role"] == "tool":
        return {"role": "assistant", "content": "Clear, 27 degrees."}, "stop"
    arguments = {"city": "Lyon", "days": "3" if FAULT == "tools" else 3}
    call = {"id": "call_0", "type": "function",
            "function": {"name": "get_forecast", "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}, "tool_calls"


def answer(number, line, known):
    row = {"id": line["id"], "line": number, "token_ids": [], "finish_reason": "stop", "error": None,
           "usage": {"prompt_tokens": 10, "completion_tokens": line["max_tokens"] if line.get("ignore_eos") else 9}}
    if FAULT == "error":
        return {**row, "text": None, "error": {"code": "context_length_exceeded", "message": "too long"}}
    if "messages" in line:
        row["message"], row["finish_reason"] = message_for(line)
        return row
    return {**row, "text": text_for(line, known)}


def main(arguments):
    if FAULT == "crash":
        print("octet: does not fit", file=sys.stderr)
        return 7
    if "-i" not in arguments:
        print("octet (not the real one)")
        return 0
    given, output, summary = (arguments[arguments.index(flag) + 1] for flag in ("-i", "-o", "--summary"))
    known = {row["prompt"]: row["answer"] for row in rows_of(WORDS / "needle.jsonl")}
    known.update({row["question"]: row["answer"] for row in rows_of(WORDS / "test.jsonl")})
    answers = [answer(number, line, known) for number, line in enumerate(rows_of(given), 1)]
    pathlib.Path(output).write_text("".join(json.dumps(row) + "\n" for row in answers), encoding="utf-8")
    rate = 50.0 if FAULT == "slow" else 100.0
    names = ("prefill_tokens_per_second", "decode_tokens_per_second", "output_throughput")
    times = ("p50_ttft_ms", "p50_itl_ms", "p99_itl_ms", "p50_e2el_ms")
    figures = {**{name: rate for name in names}, **{name: 1000 / rate for name in times},
               "total_output_tokens": 1, "arguments": arguments, "ranks": [{"rank": 0, "peak_rss_bytes": 1 << 30}]}
    pathlib.Path(summary).write_text(json.dumps(figures), encoding="utf-8")
    return 3 if FAULT == "error" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
