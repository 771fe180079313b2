"""The scripts with the real program: the small trained model answers word problems and finds numbers, on 8 ranks.
OCTET_TEST_LONG=1 asks more of them. Started by ctest, which says where the program is: OCTET_TEST_PROGRAM."""
import os
import pathlib
import tempfile
import unittest

from support import DATA, call
import certify
import gsm8k
import needle
from octet_eval.files import read_json

MODEL, WORDS = DATA / "tiny-words", DATA / "wordmaths"
LONG = os.environ.get("OCTET_TEST_LONG") == "1"
PROGRAM = os.environ.get("OCTET_TEST_PROGRAM")


@unittest.skipUnless(PROGRAM, "no program: set OCTET_TEST_PROGRAM")
class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def on_eight_ranks(self, main, *arguments):
        code, out, err = call(main, "run", "--out", self.folder, "-m", MODEL, "-R", 8, "--octet", PROGRAM, *arguments)
        self.assertEqual(code, 0, out + err)
        return read_json(self.folder / "score.json")

    def questions(self, *arguments):
        figures = self.on_eight_ranks(gsm8k.main, "--data", WORDS / "test.jsonl", "--train", WORDS / "fewshot.jsonl",
                                      "--max-tokens", 128, *arguments, "--", "-q")
        self.assertEqual(figures["filters"]["strict-match"]["correct"], figures["documents"])
        self.assertEqual(figures["filters"]["flexible-extract"]["correct"], figures["documents"])
        self.assertEqual((figures["truncated"], figures["empty"]), (0, 0))

    def test_completion_form_after_examples(self):
        # The same examples before every question; fewer in the short lane, where prompts are what takes the time.
        self.questions("--limit", 200 if LONG else 20, "--fewshot", "first", "--shots", 16 if LONG else 2,
                       "--stop", "\\n\\n")

    def test_chat_form(self):
        self.questions("--limit", 200, "--task", "plain", "--mode", "chat-raw", "--shots", 0)

    def test_numbers_in_long_texts(self):
        result = self.on_eight_ranks(needle.main, "--cases", WORDS / "needle.jsonl",
                                     "--max-length", 1100 if LONG else 300, "--", "-q", "--max-batch", 8)
        self.assertEqual(result["prompts"], 25 if LONG else 5)  # of 50; the longest cost most
        self.assertEqual(result["found"], result["prompts"])

    @unittest.skipUnless(LONG, "long lane only: set OCTET_TEST_LONG=1")
    def test_the_small_model_is_certified(self):
        code, out, err = call(certify.main, "--reduced", "-m", MODEL, "-R", 2, "--octet", PROGRAM)
        self.assertEqual(code, 0, out + err)
        self.assertIn("CERTIFIED: 6 checks passed, 0 failed, 1 skipped", out)


if __name__ == "__main__":
    unittest.main()
