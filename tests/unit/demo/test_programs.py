"""The grid holds what somebody tuning by hand would try, once each, and only Comity and the defaults run untouched."""
import unittest
from pathlib import Path

import demo_path  # noqa: F401
from comparison.programs import COMITY, DEFAULT, SEQUENTIAL, counts, programs, settings

DIGITS, BOOSTING, MULTIFRONTAL = programs(Path("/demo"), Path("/build"), "/venv/python")


class Grid(unittest.TestCase):
    def test_two_cores_give_each_knob_one_thread_or_all(self):
        self.assertEqual([setting.name for setting in settings(DIGITS, 2)], [SEQUENTIAL, DEFAULT, "1x2", "2x1", COMITY])

    def test_more_cores_add_the_half(self):
        self.assertEqual(counts(8), [1, 4, 8])
        names = [setting.name for setting in settings(DIGITS, 8)]
        self.assertEqual(names, [SEQUENTIAL, DEFAULT, "1x4", "1x8", "4x1", "4x4", "4x8", "8x1", "8x4", COMITY])

    def test_one_core_leaves_one_thread(self):
        self.assertEqual([setting.name for setting in settings(DIGITS, 1)], [SEQUENTIAL, DEFAULT, COMITY])

    def test_nothing_is_tuned_in_the_defaults_and_under_comity(self):
        for program in (DIGITS, BOOSTING, MULTIFRONTAL):
            for setting in settings(program, 4):
                untouched = not setting.arguments and not setting.environment
                self.assertEqual(untouched, setting.name in (DEFAULT, COMITY), setting)
                self.assertEqual(setting.under_comity, setting.name == COMITY)

    def test_knobs_turn_the_variable_or_the_option_that_they_name(self):
        by_name = {setting.name: setting for setting in settings(BOOSTING, 2)}
        self.assertEqual(by_name["2x1"].arguments, ("--jobs", "2"))
        self.assertEqual(by_name["2x1"].environment, {"OMP_NUM_THREADS": "1"})
        by_name = {setting.name: setting for setting in settings(MULTIFRONTAL, 2)}
        self.assertEqual(by_name["1x2"].arguments, ("--tbb-threads", "1"))
        self.assertEqual(by_name[SEQUENTIAL].environment, {"OMP_NUM_THREADS": "1"})
        by_name = {setting.name: setting for setting in settings(DIGITS, 2)}
        self.assertEqual(by_name["2x1"].environment, {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"})


if __name__ == "__main__":
    unittest.main()
