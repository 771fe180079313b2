"""A certification: checks that run octet, one verdict, and one archive that a later certification is compared with."""
import datetime
import json
import pathlib
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

from octet_eval.files import EvalError, read_json, sha256_of_file, write_jsonl
from octet_eval.octet_run import ROOT, run_octet
from octet_eval.results import read_completions

FORMAT = "octet certification 1"
PASSED, FAILED, SKIPPED = "PASSED", "FAILED", "SKIPPED"
TOLERANCE = 0.05
MODEL_FILES = ("config.json", "model.safetensors.index.json", "tokenizer.json")


@dataclass
class Outcome:
    status: str
    reason: str
    metrics: dict = field(default_factory=dict)  # name -> {"value", "better": "higher" | "lower"}
    details: dict = field(default_factory=dict)
    seconds: float = 0.0


def outcome(failures, success, metrics=None, details=None):
    return Outcome(FAILED if failures else PASSED, "; ".join(failures) or success, metrics or {}, details or {})


def metric(value, better):
    return {"value": value, "better": better}


@dataclass
class Context:
    """What every check gets: how to run octet, where to work, and the summaries of all runs so far."""
    model: str
    folder: pathlib.Path
    ranks: int = 1
    program: str | None = None
    launcher: str = "mpirun --oversubscribe"
    extra: list = field(default_factory=list)
    reduced: bool = False
    words: pathlib.Path = ROOT / "tests" / "data" / "wordmaths"
    gsm8k: pathlib.Path | None = None
    gsm8k_required: int | None = None
    max_batch: int = 16
    repeats: int = 3
    memory_limit_gib: float | None = None
    summaries: list = field(default_factory=list)

    def generate(self, name, lines, *flags):
        """Answers the lines; (completions by id, summary). An error line is an error here."""
        work = self.folder / name
        shutil.rmtree(work, ignore_errors=True)
        write_jsonl(work / "prompts.jsonl", lines)
        arguments = ["generate", "-m", self.model, "-i", work / "prompts.jsonl", "-o", work / "output.jsonl",
                     "--summary", work / "summary.json", *flags, *self.extra]
        run_octet(arguments, self.ranks, self.program, self.launcher, quiet=True)
        completions, summary = read_completions(work / "output.jsonl"), read_json(work / "summary.json")
        for line in lines:
            answer = completions.get(str(line["id"]))
            if answer is None or answer.error:
                raise EvalError(f"{name}: {line['id']} has {answer.error if answer else 'no line'}")
        self.summaries.append(summary)
        return completions, summary

    def context_limit(self):
        return read_json(pathlib.Path(self.model, "config.json")).get("max_position_embeddings")

    def eos_ids(self):
        path = pathlib.Path(self.model, "generation_config.json")
        ids = read_json(path).get("eos_token_id", 1) if path.exists() else 1
        return set(ids) if isinstance(ids, list) else {ids}


def run_checks(context, checks, wanted):
    """`checks`: name -> function of a Context. One that cannot run is FAILED with the reason: nothing passes unseen."""
    results = {}
    for name, check in checks.items():
        if wanted and name not in wanted:
            results[name] = Outcome(SKIPPED, "not asked for")
            continue
        started = time.monotonic()
        try:
            results[name] = check(context)
        except EvalError as error:
            results[name] = Outcome(FAILED, str(error))
        results[name].seconds = round(time.monotonic() - started, 1)
        print(f"{results[name].status:<8} {name:<9} {results[name].reason} ({results[name].seconds:.0f} s)",
              file=sys.stderr, flush=True)
    return results


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd=ROOT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def provenance(context, program):
    """Which program, model and machine the figures belong to."""
    model = pathlib.Path(context.model)
    files = [name for name in MODEL_FILES if (model / name).exists()]
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": first_line("git", "rev-parse", "HEAD"),
            "changed_files": first_line("git", "status", "--porcelain", "--untracked-files=no") is not None,
            "program_sha256": sha256_of_file(program), "octet": first_line(program, "--version"),
            "model_files_sha256": {name: sha256_of_file(model / name) for name in files},
            "ranks": context.ranks, "flags": context.extra, "reduced": context.reduced,
            "machine": {"system": platform.platform(), "cpu": platform.processor() or platform.machine(),
                        "gpu": first_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")}}


def against_baseline(results, baseline):
    """Every metric of the baseline must be here and within 5 %, or better. Returns rows and failures."""
    rows, failures = [], []
    for check, old in baseline["checks"].items():
        new = results.get(check)
        for name, was in old["metrics"].items():
            now = new.metrics.get(name) if new else None
            if now is None:
                if new is not None and new.status != SKIPPED:
                    failures.append(f"{check}.{name}: in the baseline, missing now")
                continue
            change = now["value"] / was["value"] - 1 if was["value"] else 0.0
            worse = -change if was["better"] == "higher" else change
            rows.append({"metric": f"{check}.{name}", "was": was["value"], "now": now["value"], "change": change,
                         "ok": worse <= TOLERANCE})
            if worse > TOLERANCE:
                failures.append(f"{check}.{name}: {was['value']:.4g} before, {now['value']:.4g} now")
    return rows, failures


def require_like(baseline, header):
    """A baseline of another model, form or number of ranks compares nothing."""
    if baseline.get("format") != FORMAT:
        raise EvalError("the baseline is not an archive of this script")
    for key in ("reduced", "ranks", "model_files_sha256"):
        if baseline["header"][key] != header[key]:
            raise EvalError(f"the baseline has another {key}: {json.dumps(baseline['header'][key])}")


def archive_of(header, results, comparison, verdict):
    return {"format": FORMAT, "verdict": verdict, "header": header,
            "checks": {name: asdict(result) for name, result in results.items()}, "comparison": comparison}


def verdict_of(results, regressions):
    """(text, passed)."""
    count = {status: sum(r.status == status for r in results.values()) for status in (PASSED, FAILED, SKIPPED)}
    passed = count[FAILED] == 0 and not regressions and count[PASSED] > 0
    text = f"{count[PASSED]} checks passed, {count[FAILED]} failed, {count[SKIPPED]} skipped"
    if regressions:
        text += f", {len(regressions)} figures worse than the baseline"
    return f"{'CERTIFIED' if passed else 'NOT CERTIFIED'}: {text}", passed
