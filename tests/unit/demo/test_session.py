"""Runs take turns; a failure is not repeated; time is kept."""
import unittest
from pathlib import Path

import demo_path  # noqa: F401
from comparison.measurement import Run
from comparison.programs import COMITY, programs, settings
from comparison.session import Plan, carry_out

DIGITS = programs(Path("/demo"), Path("/build"), "/venv/python")[0]


class Fake:
    """Stands for the processes and the clock."""

    def __init__(self, answers=None):
        self.now, self.commands, self.lines, self.waited = 0.0, [], [], 0
        self.answers = answers or (lambda command: Run(seconds=1.0, others=0.0, results={"x": 1.0}))

    def run(self, command, environment, limit):
        self.now += 1.0
        self.commands.append((command, dict(environment)))
        return self.answers(command)

    def wait(self, limit):
        self.waited += 1

    def carry_out(self, repeats, time_limit=1e9, patience=1.0):
        plan = Plan([(DIGITS, settings(DIGITS, 2))], Path("/b/comity"), repeats, 60, time_limit, self.lines.append, patience,
                    lambda: self.now, self.run, self.wait)
        return carry_out(plan)[0]


class Rounds(unittest.TestCase):
    def test_every_round_runs_each_setting_once_and_begins_with_another(self):
        fake = Fake()
        outcome = fake.carry_out(3)
        self.assertEqual({name: len(runs) for name, runs in outcome.runs.items()}, dict.fromkeys(outcome.runs, 3))
        firsts = [fake.commands[place] for place in (0, 5, 10)]
        self.assertNotEqual(firsts[0], firsts[1])
        self.assertNotEqual(firsts[1], firsts[2])
        self.assertEqual(sum(command[0] == "/b/comity" for command, _ in fake.commands), 3)

    def test_a_setting_that_failed_is_not_tried_again(self):
        fake = Fake(lambda command: Run(failure="killed") if command[0] == "/b/comity" else Run(seconds=1.0, others=0.0))
        outcome = fake.carry_out(3)
        self.assertEqual([run.failure for run in outcome.runs[COMITY]], ["killed"])
        self.assertEqual(len(fake.commands), 13)

    def test_no_round_begins_that_would_end_too_late_but_two_always_run(self):
        fake = Fake()
        outcome = fake.carry_out(9, time_limit=16)
        self.assertEqual({len(runs) for runs in outcome.runs.values()}, {3})
        self.assertIn("stopping", fake.lines[-1])
        self.assertEqual({len(runs) for runs in Fake().carry_out(9, time_limit=1).runs.values()}, {2})


class Neighbours(unittest.TestCase):
    def test_a_disturbed_run_is_repeated_once_and_the_quieter_one_counts(self):
        answers = iter([Run(seconds=5.0, others=0.9), Run(seconds=2.0, others=0.3), *[Run(seconds=1.0, others=0.0)] * 9])
        fake = Fake(lambda command: next(answers))
        outcome = fake.carry_out(1)
        self.assertEqual(outcome.runs["sequential"][0].seconds, 2.0)
        self.assertEqual(len(fake.commands), 6)
        self.assertEqual(fake.waited, 6)

    def test_without_patience_it_is_not(self):
        fake = Fake(lambda command: Run(seconds=5.0, others=0.9))
        fake.carry_out(1, patience=0)
        self.assertEqual((len(fake.commands), fake.waited), (5, 0))


if __name__ == "__main__":
    unittest.main()
