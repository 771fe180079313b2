"""Certification of how fast and how large octet runs: the matrix of concurrencies, the decode sweep, peak memory.
Every cell is a run of its own with prompts that share no beginning, so nothing is cached before it starts."""
import statistics

from octet_eval import gsm8k_prompts
from octet_eval.campaign import SKIPPED, Outcome, metric, outcome
from octet_eval.files import EvalError, read_jsonl
from octet_eval.gsm8k_prompts import ASSISTANT, BOS, USER
from octet_eval.needle_cases import tokens_by_octet
from octet_eval.needle_text import Haystack, largest_fit
from octet_eval.run_figures import GIB
from octet_eval.text_checks import garbage

MATRIX_CONCURRENCIES, MATRIX_LENGTHS, MATRIX_OUTPUT = (1, 2, 4, 8, 16), (1024, 8192, 32768, 65536), 256
SWEEP_CONCURRENCIES, SWEEP_LENGTH = (8, 16, 64), 32768
SWEEP_WARM_UP, SWEEP_STEPS = 32, 512  # steps of a sequence before the window, and within it
REDUCED_CONCURRENCIES, REDUCED_SHOTS, REDUCED_LENGTH, REDUCED_OUTPUT = (1, 2, 4), 16, 1024, 32
LENGTH_TOLERANCE = 0.01
TASK_AFTER_TEXT = "Write a story of at least 500 words that begins with the first sentence above."
CELL_METRICS = {"prefill_tokens_per_second": "higher", "decode_tokens_per_second": "higher",
                "output_throughput": "higher", "p50_ttft_ms": "lower", "p50_itl_ms": "lower", "p99_itl_ms": "lower",
                "p50_e2el_ms": "lower"}
DETERMINISTIC = {"--deterministic"}


def long_prompts(context, length, count):
    """`count` prompts of about `length` tokens. Seeds differ, so texts differ from their first sentence on."""
    if context.reduced:  # the small model knows worked examples; every prompt has them in another order
        rows, examples = (read_jsonl(context.words / name) for name in ("test.jsonl", "fewshot.jsonl"))
        draws = gsm8k_prompts.draw_fewshot(len(examples), REDUCED_SHOTS, count, "random", 1234)
        return [gsm8k_prompts.completion_text(gsm8k_prompts.turns("gsm8k", [examples[i] for i in draw], row))
                for draw, row in zip(draws, rows)]
    haystack = Haystack(0)
    n, _ = largest_fit(length, lambda k: story_prompt(haystack, k), tokens_by_octet(context.model, context.program))
    return [story_prompt(Haystack(seed), n) for seed in range(count)]


def story_prompt(haystack, n):
    return f"{BOS}{USER}{haystack.text(n, 50)}\n\n{TASK_AFTER_TEXT}{ASSISTANT}</think>"


def lines_of(prompts, max_tokens):
    return [{"id": i, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True}
            for i, prompt in enumerate(prompts)]


def off_length(completions, length):
    """The prompt that is furthest from the wanted length, as a sentence, or None."""
    worst = max((c.prompt_tokens for c in completions.values()), key=lambda tokens: abs(tokens - length))
    return f"a prompt of {worst} tokens, {length} wanted" if abs(worst - length) > LENGTH_TOLERANCE * length else None


def medians(runs):
    """One summary of several: the median of every figure of a cell."""
    return {key: statistics.median(run[key] for run in runs) for key in CELL_METRICS}


def cell_faults(context, name, completions, texts, output, length):
    """Texts that are broken, short, or not those of the same prompt in an earlier cell."""
    faults = []
    for i, completion in completions.items():
        if fault := garbage(completion, context.eos_ids()):
            faults.append(f"{name}: answer {i}: {fault}")
        if completion.completion_tokens != output:
            faults.append(f"{name}: answer {i} has {completion.completion_tokens} tokens, {output} wanted")
    if not context.reduced and (fault := off_length(completions, length)):
        faults.append(f"{name}: {fault}")
    differ = [i for i, c in completions.items() if texts.setdefault(i, c.text) != c.text]
    # The CPU backend is deterministic by default; a GPU promises equal texts only with the flag.
    if differ and (context.reduced or DETERMINISTIC & set(context.extra)):
        faults.append(f"{name}: {len(differ)} answers differ from those at a smaller concurrency")
    return faults, len(differ)


def matrix(context):
    """Every concurrency by every prompt length; clean means complete, sound text, and no worse than the baseline."""
    lengths, concurrencies, output = ((REDUCED_LENGTH,), REDUCED_CONCURRENCIES, REDUCED_OUTPUT) if context.reduced \
        else (MATRIX_LENGTHS, MATRIX_CONCURRENCIES, MATRIX_OUTPUT)
    faults, metrics, cells = [], {}, {}
    for length in lengths:
        prompts, texts = long_prompts(context, length, max(concurrencies)), {}
        for c in concurrencies:
            name, runs, differ = f"c{c}.p{length}", [], 0
            for _ in range(context.repeats):
                completions, summary = context.generate(f"matrix-{name}", lines_of(prompts[:c], output),
                                                        "--max-batch", c)
                found, differ = cell_faults(context, name, completions, texts, output, length)
                faults += found
                runs.append(summary)
            figures = medians(runs)
            cells[name] = {"median": figures, "runs": runs, "answers_unlike_smaller_concurrency": differ}
            metrics.update({f"{name}.{key}": metric(figures[key], better) for key, better in CELL_METRICS.items()})
    return outcome(faults, f"{len(cells)} cells clean, {context.repeats} runs each", metrics, cells)


def sequence_steps(summary, running):
    """Sequence-steps per second while `running` sequences decode and nothing is prefilled. The gaps between steps are
    weighted by the sequences in them, and nearly all weight lies in steps that decode alone with a full batch, so
    their median is the time of such a step. A step that verifies drafted tokens is one step."""
    gap = summary["p50_itl_ms"]
    if gap <= 0:
        raise EvalError("the summary has no gaps between tokens")
    return running * 1000 / gap


def sweep(context):
    """Decoding at 32k tokens of context with 8, 16 and 64 requests, of which at most max-batch run at a time."""
    concurrencies, length, output = (SWEEP_CONCURRENCIES, SWEEP_LENGTH, SWEEP_WARM_UP + SWEEP_STEPS)
    if context.reduced:
        concurrencies, length, output = REDUCED_CONCURRENCIES[1:], REDUCED_LENGTH, 2 * REDUCED_OUTPUT
    prompts, metrics, details, said = long_prompts(context, length, max(concurrencies)), {}, {}, []
    for n in concurrencies:
        running, rates, runs = min(n, context.max_batch), [], []
        for _ in range(context.repeats):
            completions, summary = context.generate(f"sweep-c{n}", lines_of(prompts[:n], output),
                                                    "--max-batch", running)
            if not context.reduced and (fault := off_length(completions, length)):
                return outcome([fault], "")
            rates.append(sequence_steps(summary, running))
            runs.append(summary)
        rate = statistics.median(rates)
        metrics[f"c{n}.sequence_steps_per_second"] = metric(rate, "higher")
        metrics[f"c{n}.p99_itl_ms"] = metric(statistics.median(r["p99_itl_ms"] for r in runs), "lower")
        details[f"c{n}"] = {
            "running": running, "waiting": n - running, "sequence_steps_per_second": rates,
            "engine_steps_per_second": [r / running for r in rates], "context_at_start": length,
            "context_drift": output / length, "decode_tokens_per_second": [r["decode_tokens_per_second"] for r in runs],
            "acceptance_length": [r.get("spec_decode_acceptance_length") for r in runs], "runs": runs}
        said.append(f"c{n} {rate:.1f} ({min(rates):.1f} to {max(rates):.1f})")
    return outcome([], f"sequence-steps/s {', '.join(said)}", metrics, details)


def memory(context):
    """The largest figure of any rank over all runs of this certification."""
    if not context.summaries:
        return Outcome(SKIPPED, "no check before it ran octet")
    peaks = {}
    for summary in context.summaries:
        for rank in summary["ranks"]:
            for key, value in rank.items():
                if "peak" in key and isinstance(value, (int, float)):
                    peaks[key] = max(peaks.get(key, 0), value)
    failures = [f"{key} {value / GIB:.2f} GiB, {context.memory_limit_gib} allowed" for key, value in peaks.items()
                if context.memory_limit_gib is not None and value / GIB > context.memory_limit_gib]
    shown = ", ".join(f"{key.removesuffix('_bytes')} {value / GIB:.2f} GiB" for key, value in sorted(peaks.items()))
    return outcome(failures, f"largest rank: {shown}", {key: metric(value, "lower") for key, value in peaks.items()})
