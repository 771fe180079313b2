"""Verdict, archive and baseline of certify.py, with a program that stands for octet and can be broken in one way."""
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import DATA, FAKE, call
import certify
from octet_eval.files import read_json, write_json
from octet_eval.text_checks import repeated_share


class Certify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def certify(self, *arguments, fault="", archive="archive.json"):
        """(exit code, stdout, archive)."""
        with mock.patch.dict(os.environ, {"FAKE_FAULT": fault}):
            code, out, err = call(certify.main, "-m", DATA / "tiny-words", "--octet", FAKE, "--archive",
                                  self.root / archive, *arguments)
        return code, out + err, read_json(self.root / archive) if (self.root / archive).exists() else None

    def status(self, *arguments, fault):
        return {name: check["status"] for name, check in self.certify(*arguments, fault=fault)[2]["checks"].items()}

    def test_a_sound_program_is_certified_and_what_was_skipped_is_counted(self):
        code, out, archive = self.certify("--reduced")
        self.assertEqual(code, 0, out)
        self.assertIn("CERTIFIED: 6 checks passed, 0 failed, 1 skipped", out)
        self.assertRegex(out, r"SKIPPED +tools +the small model knows no tools")
        self.assertEqual(archive["checks"]["gsm8k"]["metrics"]["accuracy"]["value"], 1.0)
        self.assertEqual(archive["checks"]["sweep"]["metrics"]["c4.sequence_steps_per_second"]["value"], 400.0)
        self.assertEqual(archive["checks"]["memory"]["metrics"]["peak_rss_bytes"]["value"], 1 << 30)
        self.assertEqual(len(archive["header"]["model_files_sha256"]), 3)

    def test_wrong_answers_fail_every_check_of_answers(self):
        status = self.status("--reduced", "--checks", "sanity,gsm8k,needle", fault="wrong")
        self.assertEqual([status[name] for name in ("sanity", "gsm8k", "needle")], ["FAILED"] * 3)

    def test_repetition_fails_the_matrix(self):
        status = self.status("--reduced", "--checks", "sanity,matrix", fault="repeat")
        self.assertEqual((status["matrix"], status["sanity"]), ("FAILED", "PASSED"))

    def test_error_lines_and_a_crash_fail_what_they_touch(self):
        for fault in ("error", "crash"):
            code, out, archive = self.certify("--reduced", "--checks", "sanity", fault=fault)
            self.assertEqual(code, 1)
            self.assertEqual(archive["checks"]["sanity"]["status"], "FAILED")
            self.assertIn("NOT CERTIFIED", out)
        self.assertEqual(archive["checks"]["sanity"]["reason"], "octet ended with 7: does not fit")

    def test_a_tool_call_must_satisfy_its_schema(self):
        code, out, _ = self.certify("--checks", "tools")
        self.assertEqual(code, 0, out)
        code, out, _ = self.certify("--checks", "tools", fault="tools")
        self.assertEqual(code, 1)
        self.assertIn("days is '3'", out)

    def test_checks_that_were_not_asked_for_are_skipped(self):
        _, out, _ = self.certify("--reduced", "--checks", "sanity")
        self.assertIn("CERTIFIED: 1 checks passed, 0 failed, 6 skipped", out)

    def test_nothing_but_skipped_checks_is_no_certificate(self):
        code, out, _ = self.certify("--checks", "gsm8k")
        self.assertEqual(code, 1)
        self.assertIn("no gsm8k data", out)

    def test_a_slower_run_is_worse_than_its_baseline_and_a_faster_one_is_not(self):
        matrix = ("--reduced", "--checks", "matrix")
        self.certify(*matrix, archive="base.json")
        code, out, _ = self.certify(*matrix, "--baseline", self.root / "base.json", fault="slow")
        self.assertEqual(code, 1)
        self.assertIn("WORSE    matrix.c1.p1024.p50_ttft_ms: 10 before, 20 now", out)
        self.certify(*matrix, archive="slow.json", fault="slow")
        code, out, _ = self.certify(*matrix, "--baseline", self.root / "slow.json")
        self.assertEqual(code, 0, out)

    def test_a_baseline_of_another_model_or_form_is_refused(self):
        sanity = ("--reduced", "--checks", "sanity")
        self.certify(*sanity, archive="base.json")
        code, out, _ = self.certify("--baseline", self.root / "base.json")
        self.assertEqual((code, "the baseline has another reduced" in out), (2, True))
        base = read_json(self.root / "base.json")
        base["header"]["model_files_sha256"]["config.json"] = "0"
        write_json(self.root / "base.json", base)
        self.assertEqual(self.certify(*sanity, "--baseline", self.root / "base.json")[0], 2)

    def test_a_memory_limit_is_kept(self):
        code, out, _ = self.certify("--reduced", "--checks", "sanity,memory", "--memory-limit", "0.5")
        self.assertEqual(code, 1)
        self.assertIn("peak_rss_bytes 1.00 GiB, 0.5 allowed", out)


class Repetition(unittest.TestCase):
    def test_share_of_grams_seen_before(self):
        self.assertEqual(repeated_share(list(range(100))), 0.0)
        self.assertEqual(repeated_share([1] * 17), 0.9)
        self.assertEqual(repeated_share([1, 2]), 0.0)


if __name__ == "__main__":
    unittest.main()
