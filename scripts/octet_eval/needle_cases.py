"""Sets of needle prompts with their manifest, and how many numbers an output file found, by length and depth."""
import json
import pathlib
import tempfile

from octet_eval.files import EvalError, read_jsonl, sha256_of_file, sha256_of_text, write_jsonl
from octet_eval.gsm8k_prompts import ASSISTANT, USER
from octet_eval.needle_text import Haystack, largest_fit, score
from octet_eval.octet_run import run_octet
from octet_eval.svg import heat_map

FORMAT = "octet needle manifest 1"
SUITES = {  # lengths, depths, seeds
    "minimal": ((4096, 32768, 131072, 342000), (0, 10, 25, 50, 75, 90, 100), (1,)),
    "release": ((342000,), (10, 50, 90), (1, 2, 3)),
}
MAX_TOKENS, CASE_MAX_TOKENS, LENGTH_GRID = 32, 64, 250
PROBE = ("What is 17*19? Return only the final integer.", "323")


def tokens_by_octet(model, program):
    """A counter for largest_fit: `octet tokenize` over lines {"text"}, which answers lines {"ids"}."""
    def count_all(prompts):
        with tempfile.TemporaryDirectory() as folder:
            given, made = pathlib.Path(folder, "in.jsonl"), pathlib.Path(folder, "out.jsonl")
            write_jsonl(given, [{"text": prompt} for prompt in prompts])
            run_octet(["tokenize", "-m", model, "-i", given, "-o", made], program=program, quiet=True)
            rows = read_jsonl(made)
            if len(rows) != len(prompts) or not all("ids" in row for row in rows):
                raise EvalError("octet tokenize did not answer every line")
            return [len(row["ids"]) for row in rows]
    return count_all


def grid(lengths, depths, seeds, sentences=None, count_all=None):
    """(lines, documents) for every combination. The number of sentences is given per length, or searched."""
    lines, documents = [], []
    for seed in seeds:
        haystack = Haystack(seed)
        for i, length in enumerate(lengths):
            for depth in depths:
                if sentences:
                    n, tokens = sentences[i], None
                else:
                    n, tokens = largest_fit(length, lambda k, d=depth: haystack.prompt(k, d), count_all)
                prompt, name = haystack.prompt(n, depth), f"{length}-{depth}-{seed}"
                lines.append({"id": name, "prompt": prompt, "max_tokens": MAX_TOKENS, "temperature": 0})
                documents.append({"id": name, "form": "chat", "length": length, "depth": depth, "seed": seed,
                                  "sentences": n, "tokens": tokens, "answer": haystack.value})
    return lines, documents


def case_line(name, row, max_tokens=CASE_MAX_TOKENS):
    if row["form"] == "chat":
        return {"id": name, "prompt": f"{USER}{row['prompt']}{ASSISTANT}</think>", "max_tokens": max_tokens,
                "temperature": 0}
    return {"id": name, "prompt": row["prompt"], "max_tokens": max_tokens, "temperature": 0, "stop": ["\n\n"]}


def from_file(path, limit=None, max_length=None):
    """(lines, documents) of a file of cases {form, prompt, answer, tokens, depth}; depth is a share there."""
    rows = [row for row in read_jsonl(path) if max_length is None or row["tokens"] <= max_length][:limit]
    lines, documents = [], []
    for i, row in enumerate(rows):
        lines.append(case_line(f"case-{i}", row))
        nominal = round(row["tokens"] / LENGTH_GRID) * LENGTH_GRID
        documents.append({"id": f"case-{i}", "form": row["form"], "length": nominal, "tokens": row["tokens"],
                          "depth": round(100 * row["depth"]), "answer": row["answer"]})
    return lines, documents


def add_probe(lines, documents, question, expected):
    """A short last request: the ranks must still answer after the long ones."""
    lines.append({"id": "probe", "prompt": f"{USER}{question}{ASSISTANT}</think>", "max_tokens": CASE_MAX_TOKENS,
                  "temperature": 0})
    documents.append({"id": "probe", "form": "probe", "answer": expected})


def manifest_of(lines, documents, bos="auto", cases=None):
    for line, document in zip(lines, documents):
        document["prompt_sha256"] = sha256_of_text(line["prompt"])
        document["max_tokens"] = line["max_tokens"]
    if not documents:
        raise EvalError("no needle prompts are left")
    source = {"file": pathlib.Path(cases).name, "sha256": sha256_of_file(cases)} if cases else None
    return {"format": FORMAT, "bos": bos, "cases": source, "documents": documents}


def figures(joined):
    """The JSON result: one row per prompt, and the sums."""
    rows, probe = [], None
    for document, completion in joined.pairs:
        if document["form"] == "probe":
            probe = {"text": completion.text, "expected": document["answer"],
                     "right": document["answer"] in completion.text}
            continue
        row = {key: document.get(key) for key in ("id", "form", "length", "depth", "seed", "tokens", "answer")}
        row["tokens"] = completion.prompt_tokens or row["tokens"]
        rows.append({**row, **score(completion.text, document["answer"]), "text": completion.text,
                     "truncated": completion.completion_tokens >= document["max_tokens"]})
    sums = {name: sum(row[name] for row in rows) for name in ("found", "contains", "exact", "truncated")}
    return {"format": "octet needle score 1", "prompts": len(rows), **sums, "missing": len(joined.missing),
            "errors": len(joined.errors), "biased": not joined.complete, "probe": probe, "rows": rows}


def cells_of(rows):
    cells = {}
    for row in rows:
        key = (row["length"], row["depth"])
        right, of = cells.get(key, (0, 0))
        cells[key] = (right + row["found"], of + 1)
    return cells


def table(result):
    cells = cells_of(result["rows"])
    lengths, depths = sorted({c for c, _ in cells}), sorted({d for _, d in cells})
    lines = [f"found {result['found']} of {result['prompts']} (contained {result['contains']}, "
             f"exact {result['exact']}, truncated {result['truncated']})"]
    if result["biased"]:
        lines.append(f"BIASED: {result['missing']} prompts without a line, {result['errors']} with an error, left out")
    lines.append("depth %  " + "".join(f"{length:>9}" for length in lengths) + "   prompt tokens, nominal")
    for depth in depths:
        shown = ["/".join(map(str, cells[(length, depth)])) if (length, depth) in cells else "" for length in lengths]
        lines.append(f"{depth:>7}  " + "".join(f"{s:>9}" for s in shown))
    for row in result["rows"]:
        if not row["found"]:
            lines.append(f"missed   {row['id']}: {row['answer']} wanted, got {json.dumps(row['text'][:80])}")
    if result["probe"]:
        lines.append(f"post-probe {'right' if result['probe']['right'] else 'WRONG'}: "
                     f"{json.dumps(result['probe']['text'][:80], ensure_ascii=False)}")
    return lines


def drawing(result):
    cells = cells_of(result["rows"])
    title = f"Needle found: {result['found']} of {result['prompts']}"
    return heat_map(title, sorted({c for c, _ in cells}), sorted({d for _, d in cells}), cells,
                    "prompt tokens", "depth of the needle, %")
