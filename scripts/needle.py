#!/usr/bin/env python3
"""Needle in a haystack with octet: random sentences, one number hidden among them, and the question for it.

  needle.py run --suite release --post-probe --out n342 -m MODEL -R 8        # 342k tokens, 3 depths, 3 seeds
  needle.py run --suite minimal --out n -m MODEL -R 8 -- --max-batch 4       # 4k to 342k, 7 depths
  needle.py run --cases tests/data/wordmaths/needle.jsonl --out words -m tests/data/tiny-words -R 8
  needle.py prepare --lengths 2048 --depths 50 --sentences 132 --out n2k     # without a tokenizer
  needle.py score n342/output.jsonl --json n342/score.json                   # again, without a GPU
  needle.py plot n342/score.json -o n342/heat.svg

A prompt is found if the first run of at least 7 digits (as many as the number has), commas removed, is the number.
A run's folder holds prompts.jsonl, manifest.json, output.jsonl, summary.json, score.json and heat.svg. The prompts
end with </think>, so they need no chat encoding. Exit: 0 done, 1 fewer found than --require or a wrong post-probe,
2 refused.
"""
import argparse
import pathlib
import sys

from octet_eval import needle_cases
from octet_eval.arguments import add_run_options, run_into, split_passthrough
from octet_eval.files import EvalError, read_json, write_json, write_jsonl, write_text
from octet_eval.results import join, read_completions, require_complete


def numbers(text):
    return tuple(int(word) for word in text.split(","))


def add_prompt_options(parser):
    parser.add_argument("--suite", choices=needle_cases.SUITES, default="minimal",
                        help="lengths, depths and seeds together (minimal); the next three replace its parts")
    parser.add_argument("--lengths", type=numbers, metavar="N,N", help="prompt tokens, at most")
    parser.add_argument("--depths", type=numbers, metavar="P,P", help="where the number stands, in percent")
    parser.add_argument("--seeds", type=numbers, metavar="S,S", help="of the sentences and the number")
    parser.add_argument("--sentences", type=numbers, metavar="N,N",
                        help="sentences for each length, instead of a search with octet tokenize")
    parser.add_argument("--cases", metavar="FILE", help="prompts from a file of {form, prompt, answer, tokens, depth}")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N cases")
    parser.add_argument("--max-length", type=int, metavar="N", help="only cases of at most N tokens")
    parser.add_argument("--post-probe", action="store_true", help="a short last question with a known answer")
    parser.add_argument("--probe-question", default=needle_cases.PROBE[0], metavar="TEXT")
    parser.add_argument("--probe-answer", default=needle_cases.PROBE[1], metavar="TEXT")
    parser.add_argument("--bos", choices=("auto", "never"), default="auto", help="octet's flag (auto)")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR", help="the run's folder")
    parser.add_argument("--force", action="store_true", help="replace what the folder holds")


def prompts_of(options):
    if options.cases:
        return needle_cases.from_file(options.cases, options.limit, options.max_length)
    lengths, depths, seeds = needle_cases.SUITES[options.suite]
    lengths = options.lengths or lengths
    if options.sentences and len(options.sentences) != len(lengths):
        raise EvalError(f"--sentences wants one number per length, {len(lengths)}")
    if not options.sentences and not options.model:
        raise EvalError("-m MODEL is needed to count tokens, or give --sentences")
    count_all = needle_cases.tokens_by_octet(options.model, options.octet)
    return needle_cases.grid(lengths, options.depths or depths, options.seeds or seeds, options.sentences, count_all)


def command_prepare(options):
    lines, documents = prompts_of(options)
    if options.post_probe:
        needle_cases.add_probe(lines, documents, options.probe_question, options.probe_answer)
    manifest = needle_cases.manifest_of(lines, documents, options.bos, options.cases)
    path = options.out / "manifest.json"
    if path.exists() and not options.force and read_json(path) != manifest:
        raise EvalError(f"{path} describes other prompts; --force replaces them")
    write_jsonl(options.out / "prompts.jsonl", lines)
    write_json(path, manifest)
    print(f"{len(lines)} prompts in {options.out / 'prompts.jsonl'}")
    return 0


def command_run(options):
    command_prepare(options)
    run_into(options.out, options, ["--bos", options.bos, *options.extra])
    options.file, options.manifest = options.out / "output.jsonl", None
    options.json, options.svg = options.out / "score.json", options.out / "heat.svg"
    return command_score(options)


def command_score(options):
    manifest_path = options.manifest or options.file.parent / "manifest.json"
    manifest = read_json(manifest_path)
    if manifest.get("format") != needle_cases.FORMAT:
        raise EvalError(f"{manifest_path} is not a manifest of this script")
    joined = join(manifest, read_completions(options.file), options.file)
    require_complete(joined, options.file, options.partial)
    result = needle_cases.figures(joined)
    print("\n".join(needle_cases.table(result)))
    if options.json:
        write_json(options.json, result)
    if options.svg:
        write_text(options.svg, needle_cases.drawing(result))
    if options.require is not None and result["found"] < options.require:
        print(f"FAILED: fewer than {options.require} found")
        return 1
    return 1 if result["probe"] and not result["probe"]["right"] else 0


def command_plot(options):
    write_text(options.output, needle_cases.drawing(read_json(options.file)))
    return 0


def parse(arguments):
    own, extra = split_passthrough(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    prepare = commands.add_parser("prepare", help="write prompts and manifest")
    add_prompt_options(prepare)
    prepare.add_argument("-m", "--model", metavar="DIR", help="checkpoint folder, for its tokenizer")
    prepare.add_argument("--octet", metavar="PROGRAM", help="default: newest release build, newest build, PATH")
    run = commands.add_parser("run", help="prepare, octet generate, score")
    add_prompt_options(run)
    add_run_options(run)
    score = commands.add_parser("score", help="grade an output file")
    score.add_argument("file", type=pathlib.Path, help="output of octet generate")
    score.add_argument("--manifest", type=pathlib.Path, metavar="FILE", help="manifest.json beside the output")
    score.add_argument("--json", metavar="FILE", help="the result as JSON")
    score.add_argument("--svg", metavar="FILE", help="the heat map")
    for sub in (run, score):
        sub.add_argument("--partial", action="store_true", help="score an incomplete file and call the result biased")
        sub.add_argument("--require", type=int, metavar="N", help="exit 1 if fewer are found")
    plot = commands.add_parser("plot", help="heat map of a score")
    plot.add_argument("file", help="score.json")
    plot.add_argument("-o", "--output", required=True, metavar="FILE", help="SVG")
    options = parser.parse_args(own)
    if extra and options.command != "run":
        parser.error("flags after -- belong to run")
    options.extra = extra
    return options


def main(arguments=None):
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        return globals()[f"command_{options.command}"](options)
    except EvalError as error:
        print(f"needle.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
