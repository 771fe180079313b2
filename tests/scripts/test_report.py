"""Tables and drawings from summaries and from the result of octet ab."""
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

from support import call
import report

SUMMARY = {"prompts": 3, "completed": 3, "failed": 0, "errors": {}, "total_input_tokens": 745,
           "total_output_tokens": 57, "duration": 6.58, "prefill_tokens_per_second": 100.0,
           "decode_tokens_per_second": 40.0, "p50_ttft_ms": 50.0, "p99_ttft_ms": 60.0, "p50_itl_ms": 5.0,
           "p99_itl_ms": 6.0, "new_figure": 7, "phases": {"load_seconds": 0.25}, "ranks": [
               {"rank": 0, "peak_rss_bytes": 1 << 30, "weight_bytes": 1 << 29},
               {"rank": 1, "peak_rss_bytes": 3 << 30, "weight_bytes": 1 << 28}]}
AB = {"arms": [{"name": "bf16", "path": "ipc/bf16", "ttft_ms": [10.0, 12.0, 11.0]},
               {"name": "int8", "path": "ipc/int8", "ttft_ms": [8.0, 8.5, 8.25]}],
      "null": {"pass": True, "ci95": [-0.01, 0.012]},
      "compare": [{"arm": "int8", "ttft_delta": -0.25, "ttft_ci95": [-0.3, -0.2]}], "verdict": "int8 is faster"}


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, value):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    def words_of_drawing(self):
        return [t.text for t in xml.etree.ElementTree.parse(self.root / "x.svg").iter() if t.text]

    def test_two_runs_stand_side_by_side_with_their_change(self):
        a = self.write("a/summary.json", SUMMARY)
        b = self.write("b/summary.json", {**SUMMARY, "decode_tokens_per_second": 50.0})
        code, out, _ = call(report.main, a, b, "--svg", self.root / "x.svg")
        rows = {line.split("  ")[0].strip(): line.split()[-4:] for line in out.splitlines()}
        self.assertEqual(code, 0)
        self.assertEqual(rows["decode tok/s"], ["40.000", "50.000", "+25.0", "%"])
        self.assertIn("b", self.words_of_drawing())

    def test_memory_is_the_largest_rank_and_unknown_figures_are_kept(self):
        _, out, _ = call(report.main, "--markdown", self.write("one.json", SUMMARY))
        self.assertIn("| peak memory GiB/rank | 3.000 |", out)
        self.assertIn("| new_figure | 7 |", out)

    def test_names_may_be_given(self):
        _, out, _ = call(report.main, f"fast={self.write('one.json', SUMMARY)}")
        self.assertRegex(out.splitlines()[0], r"^figure +fast$")

    def test_another_file_is_refused(self):
        code, _, err = call(report.main, self.write("one.json", {"x": 1}))
        self.assertEqual((code, "is not a summary of octet generate" in err), (2, True))

    def test_ab_shows_arms_null_arm_and_verdict(self):
        code, out, _ = call(report.main, "--ab", self.write("ab.json", AB), "--svg", self.root / "x.svg")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"bf16 +ipc/bf16 +3 +11.000")
        self.assertRegex(out, r"int8 +-0.25 +\[-0.3, -0.2\]")
        self.assertRegex(out, r"verdict\s+[-| ]*int8 is faster")
        self.assertIn("int8", self.words_of_drawing())

    def test_a_failed_null_arm_is_in_the_title(self):
        failed = {**AB, "null": {"pass": False, "ci95": [0.1, 0.2]}, "verdict": None}
        _, out, _ = call(report.main, "--ab", self.write("ab.json", failed), "--svg", self.root / "x.svg")
        self.assertRegex(out, r"same arm twice +FAILED")
        self.assertTrue(any("FAILED: no verdict" in word for word in self.words_of_drawing()))


if __name__ == "__main__":
    unittest.main()
