"""Medians, quartiles and ratios of alternating runs."""
import unittest

import harness_path  # noqa: F401
from harness.model import Value
from harness.statistics import median, quantile, ratio_spread, summary


class Statistics(unittest.TestCase):
    def test_median_of_odd_and_even_counts(self):
        self.assertEqual(median([9, 1, 5]), 5)
        self.assertEqual(median([9, 1, 5, 7]), 6)

    def test_median_of_nothing_is_an_error(self):
        with self.assertRaises(ValueError):
            median([])
        with self.assertRaises(ValueError):
            quantile([], 0.5)

    def test_quantiles_lie_between_the_ranks(self):
        self.assertEqual(quantile([1, 2, 3, 4, 5], 0.25), 2)
        self.assertEqual(quantile([1, 2], 0.25), 1.25)
        self.assertEqual(quantile([4], 0.75), 4)

    def test_one_disturbed_run_does_not_move_the_summary_much(self):
        self.assertEqual(summary([1, 1, 1, 1, 1000]), Value(1, 1, 1))

    def test_ratios_are_taken_round_by_round(self):
        self.assertEqual(ratio_spread([10, 40, 30], [1, 4, 3]), Value(10, 10, 10))


if __name__ == "__main__":
    unittest.main()
