"""How much other processes disturb, told from the kernel's counters."""
import unittest

import harness_path  # noqa: F401
from harness import quiet


class Quiet(unittest.TestCase):
    def test_busy_time_leaves_out_idle_and_waiting_for_disks(self):
        line = "cpu  100 200 300 99999 88888 10 20 70 555 0\n"
        self.assertAlmostEqual(quiet.busy_seconds(line) * quiet.TICK, 700)

    def test_a_machine_without_steal_time_is_understood(self):
        self.assertAlmostEqual(quiet.busy_seconds("cpu 1 2 3 4\n") * quiet.TICK, 6)

    def test_what_the_program_did_not_use_others_took(self):
        self.assertAlmostEqual(quiet.taken_by_others(3.0, 2.0, 2.0), 0.5)
        self.assertEqual(quiet.taken_by_others(1.0, 2.0, 2.0), 0)
        self.assertIsNone(quiet.taken_by_others(1.0, 0.0, 0.001))
        self.assertTrue(quiet.is_disturbed(0.5))
        self.assertFalse(quiet.is_disturbed(0.01))
        self.assertFalse(quiet.is_disturbed(None))

    def wait_with(self, readings, limit):
        slept = []
        readings = iter(readings)
        return quiet.wait(limit, slept.append, lambda: next(readings)), len(slept)

    def test_waiting_ends_with_the_first_quiet_moment(self):
        self.assertEqual(self.wait_with([0.0, 0.2, 0.4, 0.4], 10), (True, 3))

    def test_waiting_ends_at_the_limit(self):
        self.assertEqual(self.wait_with([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 0.3), (False, 3))


if __name__ == "__main__":
    unittest.main()
