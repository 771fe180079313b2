"""The filters and the comparison of lm-evaluation-harness, on its own sharp edges."""
import unittest

from support import DATA
from octet_eval.answers import INVALID, boxed, cot_strict, flexible, is_correct, normalise, strict
from octet_eval.files import read_jsonl


class ScoringVectors(unittest.TestCase):
    def test_every_vector_extracts_and_scores_as_recorded(self):
        vectors = read_jsonl(DATA / "text" / "gsm8k_scoring_vectors.jsonl")
        self.assertEqual(len(vectors), 24)
        for v in vectors:
            with self.subTest(response=v["response"]):
                self.assertEqual(strict(v["response"]), v["strict"])
                self.assertEqual(is_correct(strict(v["response"]), v["target"]), bool(v["strict_score"]))
                self.assertEqual(flexible(v["response"]), v["flexible"])
                self.assertEqual(is_correct(flexible(v["response"]), v["target"]), bool(v["flexible_score"]))
                if v["flexible"] != INVALID:
                    self.assertEqual(normalise(flexible(v["response"])), v["flexible_norm"])

    def test_every_cot_vector_extracts_as_recorded(self):
        vectors = read_jsonl(DATA / "text" / "gsm8k_cot_vectors.jsonl")
        self.assertEqual(len(vectors), 8)
        for v in vectors:
            with self.subTest(response=v["response"]):
                self.assertEqual(cot_strict(v["response"]), v["cot_strict"])


class Boxed(unittest.TestCase):
    def test_the_last_box_counts_and_braces_nest(self):
        self.assertEqual(boxed(r"\boxed{1} then \boxed{\frac{1}{2}}"), r"\frac{1}{2}")

    def test_a_box_that_never_closes_is_no_answer(self):
        self.assertEqual(boxed(r"\boxed{18"), INVALID)

    def test_a_dollar_sign_and_a_comma_do_not_matter(self):
        self.assertTrue(is_correct(boxed(r"\boxed{$1,234}"), "x\n#### 1234"))


if __name__ == "__main__":
    unittest.main()
