"""Medians, the best tuning, wrong results and bars are found where they are, and nowhere else."""
import unittest
from pathlib import Path

import demo_path  # noqa: F401
from comparison.measurement import Run
from comparison.programs import COMITY, DEFAULT, SEQUENTIAL, programs, settings
from comparison.summary import best_tuning, compare, differences, failures, judge, shown, summarise

DIGITS = programs(Path("/demo"), Path("/build"), "/venv/python")[0]
SETTINGS = settings(DIGITS, 2)


def run(seconds, runnable=1.0, result=1.0, others=0.0):
    return Run(seconds=seconds, wall=seconds + 1, cpu=seconds, switches=10, peak_threads=2, runnable=runnable, others=others,
               results={"x": result})


def medians(**seconds):
    return {name: summarise([run(value)]) for name, value in seconds.items()}


class Medians(unittest.TestCase):
    def test_median_and_extremes_of_the_runs_that_did_not_fail(self):
        found = summarise([run(3), Run(failure="killed"), run(1), run(2)])
        self.assertEqual((found.runs, found.seconds, found.fastest, found.slowest), (3, 2, 1, 3))

    def test_nothing_but_failures_is_nothing(self):
        self.assertIsNone(summarise([Run(failure="killed")]))
        self.assertIsNone(summarise([]))

    def test_busy_neighbours_in_most_runs_are_marked(self):
        self.assertTrue(summarise([run(1, others=0.5), run(1, others=0.4), run(1)]).disturbed)
        self.assertFalse(summarise([run(1, others=0.5), run(1), run(1)]).disturbed)
        self.assertFalse(summarise([run(1, others=None)]).disturbed)


class Best(unittest.TestCase):
    def test_the_fastest_of_the_grid_which_one_thread_belongs_to(self):
        self.assertEqual(best_tuning(SETTINGS, medians(sequential=2, default=9, **{"1x2": 1.5, "2x1": 1.4}, comity=1)).name, "2x1")
        self.assertEqual(best_tuning(SETTINGS, medians(sequential=1, default=9, **{"1x2": 1.5, "2x1": 1.4}, comity=1)).name, SEQUENTIAL)

    def test_the_defaults_and_comity_are_no_tuning(self):
        self.assertIsNone(best_tuning(SETTINGS, medians(default=1, comity=1)))

    def test_four_rows_are_shown_and_missing_ones_left_out(self):
        rows = shown(SETTINGS, medians(sequential=2, default=9, **{"1x2": 1.5, "2x1": 1.4}, comity=1))
        self.assertEqual([name for name, _, _ in rows], [SEQUENTIAL, DEFAULT, "2x1", COMITY])
        self.assertEqual(rows[2][1], "best hand tuning (OMP 2, BLAS 1)")
        self.assertEqual([name for name, _, _ in shown(SETTINGS, medians(default=9))], [DEFAULT])


class Results(unittest.TestCase):
    def test_rounding_is_no_difference_and_more_is(self):
        self.assertEqual(compare({"x": 1.0}, {"x": 1.0 + 1e-11}), [])
        self.assertEqual(compare({"x": 1.0}, {"x": 1.0 + 1e-6}), ["x is 1.000001 instead of 1"])

    def test_a_result_that_only_one_printed_is_a_difference(self):
        self.assertEqual(len(compare({"x": 1.0}, {"y": 1.0})), 2)

    def test_not_a_number_is_never_the_same(self):
        self.assertEqual(len(compare({"x": float("nan")}, {"x": float("nan")})), 1)

    def test_every_setting_is_compared_with_the_sequential_one(self):
        self.assertEqual(differences({SEQUENTIAL: [run(1)], DEFAULT: [run(1)], COMITY: [run(1), run(1)]}), [])
        found = differences({SEQUENTIAL: [run(1)], COMITY: [run(1), run(1, result=2.0), run(1, result=2.0)]})
        self.assertEqual(found, ["comity: x is 2 instead of 1"])

    def test_without_a_sequential_run_nothing_is_proved(self):
        self.assertEqual(len(differences({SEQUENTIAL: [Run(failure="killed")], COMITY: [run(1)]})), 1)

    def test_failures_are_told_once_each(self):
        self.assertEqual(failures({COMITY: [Run(failure="killed"), Run(failure="killed"), run(1)]}), ["comity: killed"])


class Bars(unittest.TestCase):
    def verdicts(self, runnable=1.0, **seconds):
        measured = medians(**{name.replace("best", "2x1"): value for name, value in seconds.items()})
        measured[COMITY] = summarise([run(seconds[COMITY], runnable)])
        return [verdict.passed for verdict in judge(DIGITS, SETTINGS, measured, 2)]

    def test_at_the_bar_is_a_pass_and_beyond_a_miss(self):
        self.assertEqual(self.verdicts(best=1.0, default=2.625, comity=1.05, runnable=3.0), [True, True, True])
        self.assertEqual(self.verdicts(best=1.0, default=2.6, comity=1.06, runnable=3.1), [False, False, False])

    def test_only_what_was_measured_is_judged(self):
        self.assertEqual(self.verdicts(comity=1.0), [True])
        self.assertEqual(judge(DIGITS, SETTINGS, medians(default=1), 2), [])


if __name__ == "__main__":
    unittest.main()
