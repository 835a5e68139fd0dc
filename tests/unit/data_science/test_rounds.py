"""Each setting runs once a round with its own environment; a hang is not repeated, a crash is."""
import unittest
from pathlib import Path

import data_science_path  # noqa: F401
from comparison.measurement import Run
from study.rounds import Plan, carry_out
from study.settings import COMITY, DEFAULTS, TUNINGS, Program

PROGRAM = Program("plain", "plain", ("2 × 1", "BLAS 1"))


class Rounds(unittest.TestCase):
    def carry_out(self, rounds, answer):
        self.commands, self.lines = [], []

        def run(command, environment, limit):
            self.commands.append((command, environment, limit))
            return answer(command, environment)

        plan = Plan([PROGRAM], Path("/programs"), Path("/venv/python"), Path("/b/comity"), rounds, 7.0, False, self.lines.append, run)
        return carry_out(plan)["plain"]

    def test_nothing_is_set_for_the_defaults_and_under_comity(self):
        self.carry_out(1, lambda command, environment: Run(seconds=1.0))
        program = ["/venv/python", "/programs/plain.py"]
        self.assertEqual(self.commands, [(program, {}, 7.0), (program, TUNINGS["2 × 1"], 7.0), (program, TUNINGS["BLAS 1"], 7.0),
                                         (["/b/comity", "run", "--", *program], {}, 7.0)])
        self.assertEqual(self.lines[0], "round 1/1  plain, defaults: 1.00 s")

    def test_every_round_runs_each_setting_and_the_first_the_defaults(self):
        found = self.carry_out(3, lambda command, environment: Run(seconds=1.0))
        self.assertEqual({name: len(runs) for name, runs in found.items()}, {DEFAULTS: 1, "2 × 1": 3, "BLAS 1": 3, COMITY: 3})
        self.assertEqual(len(self.lines), 10)

    def test_a_hang_is_not_repeated_and_a_crash_is(self):
        failures = {"/b/comity": "no end within 7 s", "/venv/python": "killed by SIGABRT"}
        found = self.carry_out(3, lambda command, environment: Run(failure=failures[command[0]]))
        self.assertEqual((len(found[COMITY]), len(found["2 × 1"]), len(found[DEFAULTS])), (1, 3, 3))


if __name__ == "__main__":
    unittest.main()
