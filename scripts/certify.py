#!/usr/bin/env python3
"""Certifies an octet and a checkpoint: answers, long contexts, speed and memory; one verdict and one archive.

  certify.py -m MODEL -R 8 --gsm8k DATA --archive today.json                    # hours; DATA has train and test.jsonl
  certify.py -m MODEL -R 8 --gsm8k DATA --archive new.json --baseline today.json      # no figure may be 5 % worse
  certify.py -m MODEL -R 8 --checks sanity,needle -- --numerics weight_only
  certify.py --reduced -m tests/data/tiny-words -R 2                            # minutes, for the small model

Checks, in this order:
  sanity   greedy prompts with known answers; no repetition, no broken characters
  gsm8k    200 documents, 16 examples, 8 at a time; not significantly below 0.975
  needle   a number in 342 000 tokens: depths 10, 50 and 90, three seeds, 9 of 9; then a short question
  tools    a tool call that satisfies its schema, and the tool's result in the next answer
  matrix   1 to 16 requests by 1k, 8k, 32k and 64k tokens, 256 tokens each: complete, sound, as fast as the baseline
  sweep    decoding at 32k tokens with 8, 16 and 64 requests: sequence-steps per second
  memory   the largest rank of all these runs

Every run loads the checkpoint again. A check that does not apply is SKIPPED, with its reason, and the verdict counts
those. --reduced asks the small model of tests/data what it knows, with short texts.
Exit: 0 certified, 1 not certified, 2 refused.
"""
import argparse
import pathlib
import sys
import tempfile

from octet_eval import campaign, checks_answers, checks_speed
from octet_eval.arguments import add_run_options, split_passthrough
from octet_eval.files import EvalError, read_json, write_json
from octet_eval.octet_run import find_program

CHECKS = {"sanity": checks_answers.sanity, "gsm8k": checks_answers.gsm8k, "needle": checks_answers.needle,
          "tools": checks_answers.tools, "matrix": checks_speed.matrix, "sweep": checks_speed.sweep,
          "memory": checks_speed.memory}


def parse(arguments):
    own, extra = split_passthrough(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_run_options(parser, resume=False)
    parser.add_argument("--reduced", action="store_true", help="the form for the small model of tests/data")
    parser.add_argument("--checks", metavar="NAME,NAME", help="only these")
    parser.add_argument("--archive", metavar="FILE", help="verdict, figures and where they come from, as JSON")
    parser.add_argument("--baseline", metavar="FILE", help="an archive: no figure may be over 5 %% worse")
    parser.add_argument("--gsm8k", type=pathlib.Path, metavar="DIR", help="folder of train.jsonl and test.jsonl")
    parser.add_argument("--gsm8k-require", type=int, metavar="N", help="right answers of 200 wanted, instead of that")
    parser.add_argument("--max-batch", type=int, default=16, metavar="N", help="requests at once in sweep (16)")
    parser.add_argument("--repeats", type=int, metavar="N", help="runs of each cell (3; reduced: 1)")
    parser.add_argument("--memory-limit", type=float, metavar="GIB", help="largest peak of a rank")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep prompts and outputs of all runs here")
    options = parser.parse_args(own)
    options.extra = extra
    wanted = options.checks.split(",") if options.checks else []
    if unknown := [name for name in wanted if name not in CHECKS]:
        parser.error(f"no check {unknown[0]!r}: {', '.join(CHECKS)}")
    options.checks = wanted
    return options


def certify(options, folder):
    program = find_program(options.octet)
    context = campaign.Context(
        options.model, folder, options.ranks, program, options.launcher, options.extra, options.reduced,
        gsm8k=options.gsm8k, gsm8k_required=options.gsm8k_require, max_batch=options.max_batch,
        repeats=options.repeats or (1 if options.reduced else 3), memory_limit_gib=options.memory_limit)
    header = campaign.provenance(context, program)
    baseline = read_json(options.baseline) if options.baseline else None
    if baseline:
        campaign.require_like(baseline, header)
    results = campaign.run_checks(context, CHECKS, options.checks)
    comparison, regressions = campaign.against_baseline(results, baseline) if baseline else ([], [])
    verdict, passed = campaign.verdict_of(results, regressions)
    for name, result in results.items():
        print(f"{result.status:<8} {name:<9} {result.reason}")
    for failure in regressions:
        print(f"WORSE    {failure}")
    print(verdict)
    if options.archive:
        write_json(options.archive, campaign.archive_of(header, results, comparison, verdict))
    return 0 if passed else 1


def main(arguments=None):
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        if options.keep:
            return certify(options, options.keep)
        with tempfile.TemporaryDirectory() as folder:
            return certify(options, pathlib.Path(folder))
    except EvalError as error:
        print(f"certify.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
