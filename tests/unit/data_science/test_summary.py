"""Medians, the best tuning and the ratio come from runs that ended well with the right results; the rest is named."""
import unittest

import data_science_path  # noqa: F401
from comparison.measurement import Run
from study.settings import AFTER_FORK, COMITY, DEFAULTS, Program
from study.summary import summarise

PROGRAM = Program("plain", "plain", ("2 × 1", "BLAS 1"))
HANG = Run(failure="no end within 9 s")
CRASH = Run(failure="killed by SIGABRT: terminate called")


def runs(*seconds, x=1.0):
    return [Run(seconds=value, results={"x": x}) for value in seconds]


class Rows(unittest.TestCase):
    def test_medians_and_the_ratio_to_the_fastest_tuning(self):
        row = summarise(PROGRAM, {DEFAULTS: runs(9), "2 × 1": runs(2, 2, 8), "BLAS 1": runs(1, 3, 4), COMITY: runs(5, 3, 2)})
        self.assertEqual(row.best, "2 × 1")
        self.assertEqual((row.outcomes[DEFAULTS].seconds, row.outcomes[COMITY].seconds, row.ratio), (9, 3, 1.5))
        self.assertEqual(list(row.remarks), [])
        self.assertFalse(row.trouble)

    def test_six_digits_are_compared(self):
        row = summarise(PROGRAM, {DEFAULTS: runs(9), "2 × 1": runs(1, x=1.0000005), COMITY: runs(1, x=1.00001)})
        self.assertFalse(row.outcomes["2 × 1"].wrong)
        self.assertTrue(row.outcomes[COMITY].wrong)
        self.assertTrue(row.trouble)
        self.assertIsNone(row.ratio)
        self.assertEqual(list(row.remarks), ["`plain`, comity run: other results: x is 1.00001 instead of 1"])

    def test_a_tuning_with_other_results_is_not_the_best(self):
        row = summarise(PROGRAM, {DEFAULTS: runs(9), "2 × 1": runs(1, x=2.0), "BLAS 1": runs(4), COMITY: runs(4)})
        self.assertEqual((row.best, row.ratio), ("BLAS 1", 1))

    def test_where_the_defaults_hang_the_first_tuning_says_what_is_right(self):
        for before in ({}, {DEFAULTS: [HANG]}):
            row = summarise(Program("f", "f", ("2 × 1",), AFTER_FORK), {**before, "2 × 1": runs(2), COMITY: runs(3, x=5.0)})
            self.assertTrue(row.outcomes[COMITY].wrong)

    def test_a_crash_is_named_and_the_other_runs_count(self):
        row = summarise(PROGRAM, {DEFAULTS: runs(9), "2 × 1": runs(2), COMITY: [CRASH, *runs(4, 6)]})
        self.assertEqual((row.outcomes[COMITY].seconds, row.outcomes[COMITY].failed, row.ratio), (5, 1, 2.5))
        self.assertEqual(list(row.remarks), ["`plain`, comity run: 1 of 3 runs failed: killed by SIGABRT: terminate called"])
        self.assertTrue(row.trouble)

    def test_a_crash_that_the_stock_program_has_too_is_no_trouble_of_comity(self):
        row = summarise(PROGRAM, {DEFAULTS: runs(9), "2 × 1": [CRASH, *runs(2)], COMITY: [CRASH, *runs(4)]})
        self.assertFalse(row.trouble)
        self.assertEqual(len(row.remarks), 2)

    def test_without_a_tuning_or_comity_there_is_no_ratio(self):
        self.assertIsNone(summarise(PROGRAM, {DEFAULTS: runs(9), "2 × 1": [CRASH], COMITY: runs(4)}).ratio)
        self.assertIsNone(summarise(PROGRAM, {DEFAULTS: runs(9), "2 × 1": runs(2), COMITY: [HANG]}).ratio)
        row = summarise(PROGRAM, {DEFAULTS: [HANG], "2 × 1": [CRASH], COMITY: runs(4)})
        self.assertEqual(row.remarks[-1], "`plain`: no run to compare the results with")


if __name__ == "__main__":
    unittest.main()
