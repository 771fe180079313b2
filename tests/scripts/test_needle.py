"""Needle prompts are the same text everywhere, and the rule that says whether the number was found."""
import tempfile
import unittest
import xml.etree.ElementTree

from support import DATA, call, output_line
import needle
from octet_eval.files import read_json, read_jsonl, sha256_of_text, write_jsonl
from octet_eval.needle_text import Haystack, is_found, largest_fit

CASES = DATA / "wordmaths" / "needle.jsonl"


class Text(unittest.TestCase):
    def test_prompts_have_the_recorded_hashes(self):
        haystack = Haystack(1)
        self.assertEqual((haystack.key, haystack.value), ("vault-5cc1", "6428519"))
        for sentences, depth, expected in (
                (132, 50, "d0220061e4832880aad3e7d15acf08b3b11734cd96e9686a7a3157a6443704ec"),
                (2142, 10, "6bf8a9cb777124f89231167eb90c33bcf4352c2ba6be3bbe50fa78d861978978"),
                (22391, 50, "5aefbc1adbb505ac9017573bd8f503129a78be5bd71399df7d23f8484ffd13d5")):
            self.assertEqual(sha256_of_text(haystack.prompt(sentences, depth)), expected)

    def test_the_search_ends_at_the_largest_prompt_that_fits(self):
        calls = []

        def words(prompts):
            calls.append(len(prompts))
            return [len(prompt.split()) for prompt in prompts]

        haystack = Haystack(2)
        n, tokens = largest_fit(5000, lambda k: haystack.prompt(k, 50), words)
        self.assertLessEqual(tokens, 5000)
        self.assertGreater(len(haystack.prompt(n + 1, 50).split()), 5000)
        self.assertLessEqual(len(calls), 6)

    def test_the_search_ends_for_uneven_lengths_too(self):
        uneven = lambda n: 40 + 15 * n + (n * n * 7919) % 11  # not quite a line
        n, tokens = largest_fit(2048, lambda k: k, lambda sizes: [uneven(k) for k in sizes])
        self.assertLessEqual(tokens, 2048)
        self.assertGreater(uneven(n + 1), 2048)


class Rule(unittest.TestCase):
    def test_the_first_long_run_of_digits_decides(self):
        self.assertTrue(is_found("In 2024 it was 6,428,519.", "6428519"))
        self.assertFalse(is_found("Not 1234567 but 6428519", "6428519"))
        self.assertFalse(is_found("64285190", "6428519"))
        self.assertFalse(is_found("", "6428519"))


class Cases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        call(needle.main, "prepare", "--cases", CASES, "--out", self.folder.name)
        self.answers = [row["answer"] for row in read_jsonl(CASES)]

    def write(self, texts):
        lines = [output_line(i, text, id=f"case-{i}") for i, text in enumerate(texts)]
        write_jsonl(f"{self.folder.name}/output.jsonl", lines)
        return call(needle.main, "score", f"{self.folder.name}/output.jsonl", "--json", f"{self.folder.name}/s.json",
                    "--svg", f"{self.folder.name}/heat.svg", "--require", 50)

    def test_right_answers_are_all_found(self):
        code, out, _ = self.write([f"It is {a}.\n#### {a}" for a in self.answers])
        self.assertEqual(code, 0, out)
        self.assertIn("found 50 of 50", out)
        cells = [t.text for t in xml.etree.ElementTree.parse(f"{self.folder.name}/heat.svg").iter() if t.text]
        self.assertEqual((cells.count("1/1"), cells.count("2/2")), (20, 15))

    def test_answers_of_the_neighbours_are_not(self):
        code, out, _ = self.write(self.answers[1:] + self.answers[:1])
        self.assertEqual(code, 1)
        self.assertLess(read_json(f"{self.folder.name}/s.json")["found"], 5)
        self.assertIn("missed   case-0", out)

    def test_an_incomplete_file_is_refused(self):
        code, _, err = self.write(self.answers[:49])
        self.assertEqual(code, 2)
        self.assertIn("1 documents have no line (first: case-49)", err)


if __name__ == "__main__":
    unittest.main()
