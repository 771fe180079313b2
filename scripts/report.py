#!/usr/bin/env python3
"""Figures of octet runs side by side, as a table and as a drawing.

  report.py summary.json                                    # one run
  report.py bf16=a/summary.json int8=b/summary.json         # two, named, with the change from first to second
  report.py --markdown c1.json c4.json c16.json --svg runs.svg
  report.py --ab ab.json --svg ab.svg                       # the JSON of octet ab: first-token times per arm

Summaries are what octet generate --summary writes. Exit: 0, or 2 for a file that is not one.
"""
import argparse
import pathlib
import sys

from octet_eval import run_figures
from octet_eval.files import EvalError, read_json, write_text


def split_name(word):
    """NAME=FILE, or a file, which is called by its own name."""
    name, equals, path = word.partition("=")
    if equals and not pathlib.Path(word).exists():
        return name, path
    return None, word


def named_summaries(words):
    files = [split_name(word) for word in words]
    stems = [pathlib.Path(path).stem for _, path in files]
    named = {}
    for (name, path), stem in zip(files, stems):
        if name is None:  # summary.json of several folders: the folder tells them apart
            name = stem if stems.count(stem) == 1 else pathlib.Path(path).resolve().parent.name
        summary = read_json(path)
        if not isinstance(summary, dict) or "total_output_tokens" not in summary:
            raise EvalError(f"{path} is not a summary of octet generate")
        if name in named:
            raise EvalError(f"two runs are called {name}: write NAME=FILE")
        named[name] = summary
    return named


def ab_result(path):
    result = read_json(path)
    if not isinstance(result, dict) or "arms" not in result or "compare" not in result:
        raise EvalError(f"{path} is not a result of octet ab")
    return result


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("summaries", nargs="*", metavar="[NAME=]FILE", help="summary of octet generate")
    parser.add_argument("--ab", metavar="FILE", help="JSON of octet ab instead of summaries")
    parser.add_argument("--markdown", action="store_true", help="tables as Markdown")
    parser.add_argument("--svg", metavar="FILE", help="the drawing")
    options = parser.parse_args(arguments)
    if bool(options.summaries) == bool(options.ab):
        parser.error("summaries, or --ab FILE")
    return options


def main(arguments=None):
    options = parse(arguments)
    try:
        if options.ab:
            result = ab_result(options.ab)
            tables, drawing = run_figures.ab_tables(result), run_figures.ab_drawing(result)
        else:
            named = named_summaries(options.summaries)
            tables, drawing = [run_figures.summary_table(named)], run_figures.summary_drawing(named)
        show = run_figures.as_markdown if options.markdown else run_figures.as_text
        print("\n\n".join("\n".join(show(table)) for table in tables))
        if options.svg:
            write_text(options.svg, drawing)
        return 0
    except EvalError as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
