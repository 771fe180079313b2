"""Intervals and paired tests give the published numbers."""
import unittest

import support  # noqa: F401
from octet_eval.intervals import bootstrap, documents_needed, mcnemar, paired_difference, standard_error, wilson


class Intervals(unittest.TestCase):
    def test_standard_errors_are_lm_evals(self):
        for right, n, expected in ((195, 200, 0.0111), (193, 200, 0.0130), (96, 100, 0.0197), (95, 100, 0.0219)):
            self.assertAlmostEqual(standard_error(right, n), expected, delta=5e-5)

    def test_wilson_intervals(self):
        for right, n, low, high in ((195, 200, 0.9428, 0.9893), (193, 200, 0.9295, 0.9829), (96, 100, 0.9016, 0.9843)):
            self.assertAlmostEqual(wilson(right, n)[0], low, delta=5e-5)
            self.assertAlmostEqual(wilson(right, n)[1], high, delta=5e-5)

    def test_wilson_stays_inside_zero_and_one(self):
        self.assertAlmostEqual(wilson(200, 200)[1], 1.0)
        self.assertLessEqual(wilson(200, 200)[1], 1.0)
        self.assertEqual(wilson(0, 200)[0], 0.0)


class Paired(unittest.TestCase):
    def test_exact_mcnemar(self):
        values = {(5, 3): 0.7266, (10, 2): 0.0386, (9, 1): 0.0215, (0, 5): 0.0625, (0, 6): 0.03125, (1, 7): 0.0703,
                  (12, 4): 0.0768}
        for (b, c), p in values.items():
            self.assertAlmostEqual(mcnemar(b, c), p, delta=5e-5)
            self.assertEqual(mcnemar(b, c), mcnemar(c, b))

    def test_no_flips_are_no_evidence(self):
        self.assertEqual(mcnemar(0, 0), 1.0)

    def test_difference_and_its_error(self):
        difference, error = paired_difference(5, 3, 200)
        self.assertAlmostEqual(difference, 0.01)
        self.assertAlmostEqual(error, (8 - 4 / 200) ** 0.5 / 200)

    def test_bootstrap_agrees_with_the_normal_interval_and_repeats(self):
        difference, error = paired_difference(30, 14, 500)
        low, high, above = bootstrap(30, 14, 500)
        self.assertAlmostEqual(low, difference - 1.96 * error, delta=0.004)
        self.assertAlmostEqual(high, difference + 1.96 * error, delta=0.004)
        self.assertGreater(above, 0.97)
        self.assertEqual((low, high, above), bootstrap(30, 14, 500))

    def test_bootstrap_of_one_sided_flips_keeps_their_side(self):
        low, high, above = bootstrap(0, 6, 200)
        self.assertLess(low, high)
        self.assertEqual((high <= 0, above), (True, 0.0))

    def test_more_flips_need_more_documents(self):
        self.assertGreater(documents_needed(0.05), documents_needed(0.02))
        self.assertAlmostEqual(documents_needed(0.05), 3917, delta=2)  # (1.96 + 0.842)^2 (0.05 - 0.0001) / 0.0001


if __name__ == "__main__":
    unittest.main()
