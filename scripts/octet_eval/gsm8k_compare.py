"""Two scored runs over the same documents: which flipped, and whether the flips mean anything."""
from octet_eval.answers import FILTERS
from octet_eval.files import EvalError
from octet_eval.intervals import Z95, bootstrap, documents_needed, mcnemar, paired_difference

SETTINGS = ("task", "mode", "shots", "fewshot", "seed", "thinking", "reasoning_effort", "bos", "options")
Z95_ONE_SIDED = 1.644854


def require_same_documents(first, second):
    """Pairs exist only where question, prompt and target agree, in the same order."""
    a, b = first["documents"], second["documents"]
    if len(a) != len(b):
        raise EvalError(f"not a pair: {len(a)} documents against {len(b)}")
    if first["task"] != second["task"]:
        raise EvalError(f"not a pair: task {first['task']} against {second['task']}")
    for x, y in zip(a, b):
        for key, what in (("id", "id"), ("doc", "question"), ("target", "target"), ("prompt_sha256", "prompt")):
            if x[key] != y[key]:
                raise EvalError(f"not a pair: document {x['id']} has another {what} in the second run")


def compare_filter(a, b, name):
    """`b` measured against `a`; both lists of Graded in the same order."""
    won = [y.id for x, y in zip(a, b) if y.correct[name] and not x.correct[name]]
    lost = [y.id for x, y in zip(a, b) if x.correct[name] and not y.correct[name]]
    n = len(a)
    difference, error = paired_difference(len(won), len(lost), n)
    low, high, above = bootstrap(len(won), len(lost), n)
    return {"a_correct": sum(x.correct[name] for x in a), "b_correct": sum(y.correct[name] for y in b), "n": n,
            "won": won, "lost": lost, "flip_rate": (len(won) + len(lost)) / n,
            "mcnemar_p": mcnemar(len(won), len(lost)), "difference": difference, "stderr": error,
            "ci95": [difference - Z95 * error, difference + Z95 * error], "bootstrap95": [low, high],
            "bootstrap_p_above_0": above, "lower_one_sided95": difference - Z95_ONE_SIDED * error,
            "documents_needed_for_1_point": documents_needed((len(won) + len(lost)) / n)}


def compare(first, second, a, b):
    """Both manifests and both lists of Graded."""
    require_same_documents(first, second)
    changed = [key for key in SETTINGS if first[key] != second[key]]
    return {"format": "octet gsm8k comparison 1", "n": len(a), "settings_that_differ": changed,
            "equal_texts": sum(x.text == y.text for x, y in zip(a, b)),
            "filters": {name: compare_filter(a, b, name) for name in FILTERS[first["task"]]}}


def table(result, a, b, listed=20):
    lines = [f"A and B: the same {result['n']} documents and prompts, {result['equal_texts']} equal texts"]
    for key in result["settings_that_differ"]:
        lines.append(f"note: {key} differs")
    before, after = {g.id: g for g in a}, {g.id: g for g in b}
    for name, row in result["filters"].items():
        low, high = row["ci95"]
        boot_low, boot_high = row["bootstrap95"]
        lines += [f"{name}: A {row['a_correct']}/{row['n']}, B {row['b_correct']}/{row['n']}",
                  f"  B - A     {row['difference']:+.4f}, SE {row['stderr']:.4f}, 95 % [{low:+.4f}, {high:+.4f}]",
                  f"  McNemar   {len(row['won'])} won, {len(row['lost'])} lost, exact two-sided "
                  f"p = {row['mcnemar_p']:.4f}",
                  f"  bootstrap 95 % [{boot_low:+.4f}, {boot_high:+.4f}], P(B > A) = {row['bootstrap_p_above_0']:.3f}",
                  f"  flip rate {row['flip_rate']:.4f}: {row['documents_needed_for_1_point']} documents would show "
                  f"1 point (p < 0.05 in 80 % of repetitions); {row['n']} are here"]
        flips = sorted([(i, "won") for i in row["won"]] + [(i, "lost") for i in row["lost"]])
        for i, how in flips[:listed]:
            lines.append(f"  {how:<5} {i}: A {before[i].extracted[name]}, B {after[i].extracted[name]}, "
                         f"target {after[i].target.split('####')[-1].strip()}")
        if len(flips) > listed:
            lines.append(f"  and {len(flips) - listed} more (--json has all)")
    return lines
