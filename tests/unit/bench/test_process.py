"""What the harness makes of a process: its record, its failure, its runtime, and its environment."""
import sys
import time
import unittest

import harness_path  # noqa: F401
from harness.instructions import few_of, parse_perf, per_region, regions_for
from harness.process import clean_environment, last_json_line, run_program, wrong_runtime


def python(code):
    return [sys.executable, "-c", code]


class Environment(unittest.TestCase):
    def test_tuning_of_the_users_shell_does_not_reach_a_contender(self):
        base = {"PATH": "/bin", "OMP_NUM_THREADS": "1", "KMP_BLOCKTIME": "0", "LD_PRELOAD": "x", "COMITY_HARTS": "1", "GOMP_SPINCOUNT": "1"}
        self.assertEqual(clean_environment(base, {"OMP_WAIT_POLICY": "active"}), {"PATH": "/bin", "OMP_WAIT_POLICY": "active"})


class Records(unittest.TestCase):
    def test_the_last_json_line_counts(self):
        self.assertEqual(last_json_line('{"us":1}\nnoise\n{"us":2}\n'), {"us": 2})

    def test_no_or_broken_json_is_no_record(self):
        self.assertIsNone(last_json_line("hello\n"))
        self.assertIsNone(last_json_line('{"us":\n'))

    def test_another_runtime_than_asked_for_is_a_failure(self):
        self.assertIsNone(wrong_runtime({"runtime": "/bin/../bin/sh"}, "/bin/sh"))
        self.assertIn("answered by", wrong_runtime({"runtime": "/bin/true"}, "/bin/sh"))
        self.assertIsNone(wrong_runtime({}, "/bin/sh"))
        self.assertIsNone(wrong_runtime({"runtime": "/bin/true"}, None))


class Programs(unittest.TestCase):
    def test_record_and_times_of_a_good_program(self):
        run = run_program(python('print("{\\"us\\": 3.5}")'), {}, 20)
        self.assertIsNone(run.failure)
        self.assertEqual(run.record["us"], 3.5)
        self.assertGreater(run.record["wall_ms"], 0)
        self.assertGreater(run.record["cpu_ms"], 0)

    def test_a_program_without_json_still_has_its_times(self):
        self.assertEqual(set(run_program(["/bin/true"], {}, 20).record), {"wall_ms", "cpu_ms"})

    def test_an_exit_status_is_a_failure_that_shows_the_last_complaint(self):
        run = run_program(python('import sys; print("first\\nlast", file=sys.stderr); sys.exit(3)'), {}, 20)
        self.assertEqual(run.failure, "exit status 3: last")

    def test_a_signal_is_a_failure_that_names_it(self):
        run = run_program(python("import os, signal; os.kill(os.getpid(), signal.SIGABRT)"), {}, 20)
        self.assertEqual(run.failure, "killed by SIGABRT")

    def test_a_program_that_does_not_end_is_killed_with_its_children(self):
        begin = time.monotonic()
        run = run_program(["/bin/sh", "-c", "sleep 30 & wait"], {}, 0.2)
        self.assertEqual(run.failure, "no end within 0.2 s")
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_missing_program_is_a_failure(self):
        self.assertIn("No such file", run_program(["/no/such/program"], {}, 5).failure)

    def test_a_right_number_from_the_wrong_runtime_is_a_failure(self):
        run = run_program(python('print("{\\"us\\": 1, \\"runtime\\": \\"/bin/true\\"}")'), {}, 20, "/bin/sh")
        self.assertIn("answered by", run.failure)


class Instructions(unittest.TestCase):
    def test_perf_output_is_read(self):
        self.assertEqual(parse_perf("# started on Sat\n\n123456,,instructions:u,1000,100.00,,\n"), 123456)

    def test_a_count_that_is_not_supported_is_absent(self):
        self.assertIsNone(parse_perf("<not supported>,,instructions:u,0,100.00,,\n"))
        self.assertIsNone(parse_perf(""))

    def test_start_up_cancels_out(self):
        self.assertEqual(per_region([1500, 2500], 10), 100)
        self.assertIsNone(per_region([1500, None], 10))
        self.assertIsNone(per_region([2500, 1500], 10))

    def test_the_number_of_regions_follows_their_length(self):
        self.assertEqual(regions_for(2.0), 25000)
        self.assertEqual(regions_for(1e9), 1)
        self.assertEqual([few_of(regions) for regions in (1, 2, 1600)], [0, 1, 100])


if __name__ == "__main__":
    unittest.main()
