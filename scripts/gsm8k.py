#!/usr/bin/env python3
"""gsm8k with octet: the prompts of lm-evaluation-harness, and scores that cannot hide a cut or missing answer.

  gsm8k.py run --data test.jsonl --train train.jsonl --shots 16 --limit 200 --out g200 -m MODEL -R 8 -- --max-batch 8
  gsm8k.py run ... --resume                  # goes on after an interruption
  gsm8k.py score g200/output.jsonl --samples g200/samples.jsonl --json g200/score.json       # again, without a GPU
  gsm8k.py compare base/output.jsonl int8/output.jsonl --gate 2      # paired; fails if B may be 2 points worse
  gsm8k.py prepare --data test.jsonl --train train.jsonl --shots 16 --out g200               # only the prompts

A run's folder holds prompts.jsonl (octet's input), manifest.json (how the prompts were made), output.jsonl,
summary.json (octet's figures), score.json and samples.jsonl (lm-eval's log). Exit: 0 done, 1 a gate failed, 2 refused.
"""
import argparse
import pathlib
import sys

from octet_eval import gsm8k_compare, gsm8k_score
from octet_eval.arguments import add_run_options, run_into, split_passthrough
from octet_eval.files import EvalError, read_json, read_jsonl, sha256_of_text, write_json, write_jsonl
from octet_eval.gsm8k_prompts import FORMAT, TASKS, Recipe, prepare, prompt_text
from octet_eval.results import join, read_completions, require_complete


def add_recipe_options(parser):
    parser.add_argument("--data", required=True, metavar="FILE", help="questions: JSONL of {question, answer}")
    parser.add_argument("--train", metavar="FILE", help="examples, the same form; gsm8k_cot: {question, target}")
    parser.add_argument("--shots", type=int, default=5, metavar="N", help="solved examples before a question (5)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
    parser.add_argument("--task", choices=TASKS, default="gsm8k", help="form of the text; plain: the question alone")
    parser.add_argument("--mode", choices=("completion", "chat", "chat-multiturn", "chat-raw"), default="completion",
                        help="raw prompt; all in one user message; one turn per example; the one message written out "
                             "as a raw prompt, for checkpoints without a chat encoding (completion)")
    parser.add_argument("--fewshot", choices=("random", "first"),
                        help="random: lm-eval's draw, other examples for each question; first: the first N for all "
                             "(random; gsm8k_cot and plain: first)")
    parser.add_argument("--seed", type=int, default=1234, help="of the random draw (1234, lm-eval's)")
    parser.add_argument("--thinking", choices=("chat", "thinking"), default="chat", help="form of chat prompts (chat)")
    parser.add_argument("--reasoning-effort", metavar="WORD", help="handed to octet")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="256, lm-eval's; 8192 when thinking")
    parser.add_argument("--stop", action="append", metavar="TEXT",
                        help=r"instead of the task's (thinking: none); may be repeated; \n is LF")
    parser.add_argument("--no-stop", action="store_true", help="no stop strings: end of sequence alone")
    parser.add_argument("--bos", choices=("auto", "never"), default="auto",
                        help="octet's flag, recorded: lm-eval's own runs send no BOS (auto)")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR", help="the run's folder")


def recipe_of(options):
    stop = [s.replace("\\n", "\n") for s in options.stop] if options.stop else ([] if options.no_stop else None)
    if options.thinking == "thinking" and options.mode == "completion":
        raise EvalError("--thinking thinking needs a chat mode")
    return Recipe(options.data, options.train, options.shots, options.limit, options.mode, options.task,
                  options.fewshot, options.seed, options.thinking, options.reasoning_effort, options.max_tokens, stop,
                  options.bos)


def command_prepare(options):
    """Writes prompts and manifest; a folder that holds other prompts keeps them unless --force."""
    lines, manifest = prepare(recipe_of(options))
    path = options.out / "manifest.json"
    if path.exists() and not options.force and read_json(path) != manifest:
        raise EvalError(f"{path} describes other prompts; --force replaces them")
    write_jsonl(options.out / "prompts.jsonl", lines)
    write_json(path, manifest)
    print(f"{len(lines)} prompts in {options.out / 'prompts.jsonl'}, prompts_sha256 {manifest['prompts_sha256']}")
    return manifest


def request_flags(manifest):
    """Flags of octet generate that belong to the prompts."""
    flags = ["--bos", manifest["bos"]]
    if manifest["mode"] in ("chat", "chat-multiturn"):
        flags += ["--thinking", manifest["thinking"]]
        if manifest["reasoning_effort"]:
            flags += ["--reasoning-effort", manifest["reasoning_effort"]]
    return flags


def command_run(options):
    manifest = command_prepare(options)
    run_into(options.out, options, request_flags(manifest) + options.extra)
    options.file = options.out / "output.jsonl"
    options.manifest = None
    options.json = options.out / "score.json"
    options.samples = options.out / "samples.jsonl"
    return command_score(options)


def load(path, manifest_path, partial):
    """(manifest, joined, graded) of an output file."""
    path = pathlib.Path(path)
    manifest_path = manifest_path or path.parent / "manifest.json"
    manifest = read_json(manifest_path)
    if manifest.get("format") != FORMAT:
        raise EvalError(f"{manifest_path} is not a manifest of this script")
    joined = join(manifest, read_completions(path), path)
    require_complete(joined, path, partial)
    return manifest, joined, gsm8k_score.grade(manifest, joined.pairs)


def prompts_by_id(manifest, path):
    prompts = {line["id"]: prompt_text(line) for line in read_jsonl(path)}
    for document in manifest["documents"]:
        if sha256_of_text(prompts.get(document["id"], "")) != document["prompt_sha256"]:
            raise EvalError(f"{path}: the prompt of {document['id']} is not the one of the manifest")
    return prompts


def command_score(options):
    manifest, joined, graded = load(options.file, options.manifest, options.partial)
    figures = gsm8k_score.figures(manifest, joined, graded)
    print("\n".join(gsm8k_score.table(figures)))
    if options.json:
        write_json(options.json, figures)
    if options.samples:
        folder = pathlib.Path(options.manifest or options.file).parent
        prompts = prompts_by_id(manifest, folder / "prompts.jsonl")
        write_jsonl(options.samples, gsm8k_score.sample_log(manifest, prompts, graded))
    best = max((f["correct"] for f in figures["filters"].values()), default=0)
    if options.require is not None and best < options.require:
        print(f"FAILED: {best} right answers by the best filter, {options.require} wanted")
        return 1
    return 0


def command_compare(options):
    first, _, a = load(options.a, options.manifest_a, False)
    second, _, b = load(options.b, options.manifest_b, False)
    result = gsm8k_compare.compare(first, second, a, b)
    print("\n".join(gsm8k_compare.table(result, a, b)))
    if options.json:
        write_json(options.json, result)
    failed = []
    if options.gate is not None:
        failed += [f"{name}: B may be {-100 * row['lower_one_sided95']:.2f} points worse (one-sided 95 %)"
                   for name, row in result["filters"].items() if row["lower_one_sided95"] < -options.gate / 100]
    if options.identical and result["equal_texts"] < result["n"]:
        failed.append(f"{result['n'] - result['equal_texts']} texts differ")
    for reason in failed:
        print("FAILED:", reason)
    return 1 if failed else 0


def parse(arguments):
    own, extra = split_passthrough(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("prepare", "write prompts and manifest"), ("run", "prepare, octet generate, score")):
        sub = commands.add_parser(name, help=what)
        add_recipe_options(sub)
        sub.add_argument("--force", action="store_true", help="replace what the folder holds")
        if name == "run":
            add_run_options(sub)
    score = commands.add_parser("score", help="grade an output file")
    score.add_argument("file", type=pathlib.Path, help="output of octet generate; OUT.partial works too")
    score.add_argument("--manifest", type=pathlib.Path, metavar="FILE", help="manifest.json beside the output")
    score.add_argument("--json", metavar="FILE", help="the figures as JSON")
    score.add_argument("--samples", metavar="FILE", help="lm-eval's sample log")
    for sub in (score, commands.choices["run"]):
        sub.add_argument("--partial", action="store_true", help="score an incomplete file and call the result biased")
        sub.add_argument("--require", type=int, metavar="N", help="exit 1 if no filter finds N right answers")
    both = commands.add_parser("compare", help="two outputs for the same prompts, paired")
    both.add_argument("a", help="baseline: output of octet generate")
    both.add_argument("b", help="candidate")
    both.add_argument("--manifest-a", type=pathlib.Path, metavar="FILE")
    both.add_argument("--manifest-b", type=pathlib.Path, metavar="FILE")
    both.add_argument("--json", metavar="FILE", help="the comparison as JSON")
    both.add_argument("--gate", type=float, metavar="POINTS", help="exit 1 if B may be this much worse")
    both.add_argument("--identical", action="store_true", help="exit 1 if a text differs")
    options = parser.parse_args(own)
    if extra and options.command != "run":
        parser.error("flags after -- belong to run")
    options.extra = extra
    return options


def main(arguments=None):
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        done = globals()[f"command_{options.command}"](options)
        return done if isinstance(done, int) else 0
    except EvalError as error:
        print(f"gsm8k.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
