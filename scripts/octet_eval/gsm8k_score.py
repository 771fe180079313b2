"""Scores of a gsm8k output file: every filter side by side, what was cut or empty, and lm-eval's sample log."""
import json
from dataclasses import dataclass, field

from octet_eval.answers import FILTERS, INVALID, is_correct
from octet_eval.files import sha256_of_text
from octet_eval.intervals import percentile, standard_error, wilson

THINK_END = "</think>"


@dataclass
class Graded:
    """One answered document: per filter what was extracted and whether it is right."""
    id: int
    text: str
    target: str
    truncated: bool
    completion_tokens: int
    extracted: dict = field(default_factory=dict)
    correct: dict = field(default_factory=dict)


def visible_text(manifest, completion):
    """The answer without the thinking before it, where a raw completion shows both."""
    if manifest["thinking"] == "thinking" and THINK_END in completion.text:
        return completion.text.split(THINK_END, 1)[1]
    return completion.text


def grade(manifest, pairs):
    graded, limit = [], manifest["options"]["max_tokens"]
    for document, completion in pairs:
        text = visible_text(manifest, completion)
        # By count: a program that says "stop" for a completion that filled its limit would hide a cut answer.
        one = Graded(document["id"], text, document["target"], completion.completion_tokens >= limit,
                     completion.completion_tokens)
        for name, extract in FILTERS[manifest["task"]].items():
            one.extracted[name] = extract(text)
            one.correct[name] = is_correct(one.extracted[name], document["target"])
        graded.append(one)
    return graded


def filter_figures(graded, name):
    n, right = len(graded), sum(g.correct[name] for g in graded)
    low, high = wilson(right, n)
    return {"correct": right, "accuracy": right / n, "stderr": standard_error(right, n), "wilson95": [low, high],
            "invalid": sum(g.extracted[name] == INVALID for g in graded)}


def length_figures(lengths):
    ordered = sorted(lengths)
    return {"mean": sum(ordered) / len(ordered), "min": ordered[0], "p50": percentile(ordered, 0.5),
            "p99": percentile(ordered, 0.99), "max": ordered[-1]}


def figures(manifest, joined, graded):
    """The JSON summary."""
    return {
        "format": "octet gsm8k score 1", "task": manifest["task"], "mode": manifest["mode"],
        "shots": manifest["shots"], "fewshot": manifest["fewshot"], "seed": manifest["seed"],
        "thinking": manifest["thinking"], "reasoning_effort": manifest["reasoning_effort"], "bos": manifest["bos"],
        "options": manifest["options"], "prompts_sha256": manifest["prompts_sha256"],
        "documents": len(manifest["documents"]), "scored": len(graded), "missing": len(joined.missing),
        "errors": len(joined.errors), "biased": not joined.complete,
        "truncated": sum(g.truncated for g in graded), "empty": sum(not g.text.strip() for g in graded),
        "filters": {name: filter_figures(graded, name) for name in FILTERS[manifest["task"]]} if graded else {},
        "prompt_tokens": length_figures([c.prompt_tokens for _, c in joined.pairs]) if graded else None,
        "completion_tokens": length_figures([g.completion_tokens for g in graded]) if graded else None}


def table(f):
    lines = [f"{f['task']}, {f['mode']}, {f['shots']} examples ({f['fewshot']}), "
             f"{f['scored']} of {f['documents']} documents"]
    if f["biased"]:
        lines.append(f"BIASED: {f['missing']} documents without a line, {f['errors']} with an error, left out below")
    if not f["filters"]:
        return [*lines, "nothing to score"]
    lines.append(f"{'filter':<18}{'correct':>9}{'accuracy':>10}{'+-':>8}   {'Wilson 95 %':<18}{'[invalid]':>9}")
    for name, row in f["filters"].items():
        low, high = row["wilson95"]
        lines.append(f"{name:<18}{row['correct']:>9}{row['accuracy']:>10.4f}{row['stderr']:>8.4f}   "
                     f"[{low:.4f}, {high:.4f}]  {row['invalid']:>9}")
    lines.append(f"truncated {f['truncated']} (completion tokens >= {f['options']['max_tokens']}), empty {f['empty']}, "
                 f"errors {f['errors']}, missing {f['missing']}")
    for name in ("prompt_tokens", "completion_tokens"):
        row = f[name]
        lines.append(f"{name.replace('_', ' '):<18} mean {row['mean']:.1f}, min {row['min']}, p50 {row['p50']:.0f}, "
                     f"p99 {row['p99']:.0f}, max {row['max']}")
    return lines


def sample_log(manifest, prompts, graded):
    """lm-eval's sample log: one object per document and filter. `prompts`: prompt text by id."""
    options = manifest["options"]
    arguments = {"until": options.get("stop", []), "do_sample": False, "temperature": options["temperature"],
                 "max_gen_toks": options["max_tokens"]}
    docs = {document["id"]: document["doc"] for document in manifest["documents"]}
    for name in FILTERS[manifest["task"]]:
        for g in graded:
            doc, prompt = docs[g.id], prompts[g.id]
            yield {"doc_id": g.id, "doc": doc, "target": g.target, "arguments": [[prompt, arguments]],
                   "resps": [[g.text]], "filtered_resps": [g.extracted[name]], "filter": name,
                   "metrics": ["exact_match"],
                   "doc_hash": sha256_of_text(json.dumps(doc, indent=2, ensure_ascii=False)),
                   "prompt_hash": sha256_of_text(prompt), "target_hash": sha256_of_text(str(g.target)),
                   "exact_match": float(g.correct[name])}


