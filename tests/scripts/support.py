"""Paths and small fixtures of the script tests. Importing it makes scripts/ importable."""
import contextlib
import io
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
FAKE = ROOT / "tests" / "scripts" / "fake_octet.py"  # stands for octet
sys.path.insert(0, str(ROOT / "scripts"))
# The gsm8k data is not ours and stays out of the repository.
SHARED = pathlib.Path(os.environ.get("OCTET_TEST_SHARED") or ROOT.parent / "shared")
GSM8K = SHARED / "data" / "gsm8k"


def need_gsm8k():
    if not (GSM8K / "test.jsonl").exists():
        raise unittest.SkipTest(f"no gsm8k data in {GSM8K}: set OCTET_TEST_SHARED")


def call(main, *arguments):
    """(exit code, stdout, stderr) of a script's main."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(a) for a in arguments])
    return code, out.getvalue(), err.getvalue()


def output_line(doc_id, text, **changes):
    """A line as octet generate writes it."""
    return {"id": doc_id, "line": doc_id + 1, "text": text, "token_ids": [], "finish_reason": "stop",
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 0}, "timing": {}, "x": {},
            "error": None, **changes}
