"""Tables and drawings from the JSON of octet generate --summary and of octet ab.
A table is a list of rows of strings; the first row is its head."""
from octet_eval.intervals import percentile
from octet_eval.svg import bars, document, intervals, legend

GIB = 1 << 30
LABELS = {
    "completed": "completed", "failed": "failed", "total_input_tokens": "tokens in",
    "total_output_tokens": "tokens out", "duration": "duration s",
    "prefill_tokens_per_second": "prefill tok/s", "decode_tokens_per_second": "decode tok/s",
    "request_throughput": "requests/s", "output_throughput": "output tok/s", "total_token_throughput": "total tok/s",
    "steps": "steps", "p50_ttft_ms": "first token p50 ms", "p90_ttft_ms": "first token p90 ms",
    "p99_ttft_ms": "first token p99 ms", "p50_itl_ms": "token gap p50 ms", "p90_itl_ms": "token gap p90 ms",
    "p99_itl_ms": "token gap p99 ms", "p50_e2el_ms": "whole request p50 ms", "p90_e2el_ms": "whole request p90 ms",
    "p99_e2el_ms": "whole request p99 ms"}
HIDDEN = {"prompts", "errors", "phases", "ranks"}


def peak_memory_gib(summary):
    return max(rank["peak_rss_bytes"] for rank in summary["ranks"]) / GIB


def figures_of(summary):
    """Flat: the known figures in a fixed order, then any other number of the summary under its own key."""
    flat = {label: summary[key] for key, label in LABELS.items() if key in summary}
    for key, value in summary.items():
        if key not in LABELS and key not in HIDDEN and isinstance(value, (int, float)):
            flat[key] = value
    for key, value in summary.get("phases", {}).items():
        flat[f"{key.removesuffix('_seconds')} s"] = value
    if summary.get("ranks"):
        flat["ranks"] = len(summary["ranks"])
        flat["peak memory GiB/rank"] = peak_memory_gib(summary)
        for key in ("weight_bytes", "cache_bytes", "scratch_bytes"):
            if all(key in rank for rank in summary["ranks"]):
                flat[f"{key.removesuffix('_bytes')} GiB/rank"] = max(rank[key] for rank in summary["ranks"]) / GIB
    return flat


def shown(value):
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"


def change(first, second):
    return f"{100 * (second / first - 1):+.1f} %" if first and second is not None else "-"


def summary_table(named):
    flats = {name: figures_of(summary) for name, summary in named.items()}
    labels = list(dict.fromkeys(label for flat in flats.values() for label in flat))
    rows = [["figure", *flats, *(["change"] if len(flats) == 2 else [])]]
    for label in labels:
        values = [flat.get(label) for flat in flats.values()]
        rows.append([label, *map(shown, values), *([change(*values)] if len(values) == 2 else [])])
    return rows


def as_text(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *rest = (cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
        yield "  ".join([first, *rest]).rstrip()


def as_markdown(rows):
    head, *body = rows
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    for row in body:
        yield f"| {' | '.join(row)} |"


def summary_drawing(named):
    panels = (("tokens per second", (("prefill", "prefill_tokens_per_second"), ("decode", "decode_tokens_per_second"))),
              ("first token, ms", (("p50", "p50_ttft_ms"), ("p99", "p99_ttft_ms"))),
              ("gap between tokens, ms", (("p50", "p50_itl_ms"), ("p99", "p99_itl_ms"))))
    width, panel, names = 280, 190, list(named)
    parts = []
    for i, (title, columns) in enumerate(panels):
        values = [[summary.get(key) for _, key in columns] for summary in named.values()]
        parts += bars([name for name, _ in columns], names, values, 40, 20 + (width + 20) * i, width, panel, title)
    parts += legend(names, 24, panel + 86)
    return document((width + 20) * len(panels) + 20, panel + 80 + 18 * len(names), parts)


def ab_tables(result):
    """Arms, then the comparisons; without a verdict where the null arm failed."""
    arms = [["arm", "path", "runs", "first token p50 ms", "p10", "p90"]]
    for arm in result["arms"]:
        times = sorted(arm["ttft_ms"])
        cells = [shown(percentile(times, p)) for p in (0.5, 0.1, 0.9)] if times else ["-"] * 3
        arms.append([arm["name"], arm["path"], str(len(times)), *cells])
    low, high = result["null"]["ci95"]
    comparisons = [["comparison", "change of first token", "95 %"],
                   ["same arm twice", "passed" if result["null"]["pass"] else "FAILED", f"[{low:+.4g}, {high:+.4g}]"]]
    for row in result["compare"]:
        low, high = row["ttft_ci95"]
        comparisons.append([row["arm"], f"{row['ttft_delta']:+.4g}", f"[{low:+.4g}, {high:+.4g}]"])
    return [arms, comparisons, [["verdict"], [result.get("verdict") or "none"]]]


def ab_drawing(result):
    low, high = result["null"]["ci95"]
    rows = [("same arm twice", (low + high) / 2, low, high)]
    rows += [(row["arm"], row["ttft_delta"], *row["ttft_ci95"]) for row in result["compare"]]
    title = "Change of the first-token time" + ("" if result["null"]["pass"] else " (the null arm FAILED: no verdict)")
    return intervals(title, rows, "as octet ab gives it; left is faster")
