"""What is read from a process is what it said and did; what it did not say is an error."""
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import demo_path  # noqa: F401
from comparison.measurement import OutputError, Sample, average_runnable, command_line, look, measure, parse_output, state_of


def python(source: str):
    return [sys.executable, "-c", source]


class Output(unittest.TestCase):
    def test_time_and_results_are_read_and_other_lines_ignored(self):
        text = "warming up\nTIME 1.25\nRESULT norm 3.5\nRESULT fold-1 0.9\n"
        self.assertEqual(parse_output(text), (1.25, {"norm": 3.5, "fold-1": 0.9}))

    def test_a_missing_or_unreadable_line_is_an_error(self):
        for text in ("", "TIME 1.0\n", "RESULT norm 1\n", "TIME soon\nRESULT norm 1\n", "TIME 1\nRESULT norm big\n"):
            with self.assertRaises(OutputError, msg=text):
                parse_output(text)


class Threads(unittest.TestCase):
    def test_state_is_read_behind_a_name_with_spaces_and_parentheses(self):
        self.assertEqual(state_of("17 (a (b) c) R 1 17 0"), "R")
        self.assertEqual(state_of("17 (python3) S 1 17 0"), "S")

    def test_running_and_waiting_threads_are_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            for thread, state in ((1, "R"), (2, "S"), (3, "R"), (4, "D")):
                path = Path(folder, "9", "task", str(thread))
                path.mkdir(parents=True)
                (path / "stat").write_text(f"{thread} (x) {state} 0 0")
            found = look(9, folder)
        self.assertEqual((found.threads, found.runnable), (4, 2))

    def test_a_process_that_is_gone_has_no_threads(self):
        self.assertEqual(look(9, "/nowhere").threads, 0)

    def test_only_the_timed_section_counts_in_the_average(self):
        samples = [Sample(0.5, 9, 9), Sample(1.0, 3, 1), Sample(1.5, 3, 3), Sample(2.5, 9, 9)]
        self.assertEqual(average_runnable(samples, 1.0, 2.0), 2.0)
        self.assertEqual(average_runnable(samples, 3.0, 4.0), 0.0)


class Measuring(unittest.TestCase):
    def test_a_busy_second_thread_is_seen(self):
        run = measure(python(
            "import hashlib, threading, time\n"
            "block = bytes(1 << 20)\n"
            "def spin(end):\n"
            "    while time.monotonic() < end: hashlib.sha256(block).digest()\n"
            "end = time.monotonic() + 0.5\n"
            "other = threading.Thread(target=spin, args=(end,)); other.start(); spin(end); other.join()\n"
            "print('TIME 0.5', flush=True); print('RESULT x 1')"), {}, 30)
        self.assertIsNone(run.failure)
        self.assertEqual(run.results, {"x": 1.0})
        self.assertEqual(run.peak_threads, 2)
        self.assertGreater(run.runnable, 1.2)
        self.assertLess(run.runnable, 2.1)
        self.assertGreater(run.cpu, 0.02)  # a busy machine gives it little
        self.assertGreater(run.wall, 0.5)

    def test_the_environment_is_clean_but_for_the_setting(self):
        run = measure(python("import os; print('TIME 1'); print('RESULT omp', os.environ['OMP_NUM_THREADS']);"
                             "print('RESULT tuning', sum(name.startswith(('OMP', 'OPENBLAS', 'LD_')) for name in os.environ))"),
                      {"OMP_NUM_THREADS": "7"}, 30)
        self.assertEqual(run.results, {"omp": 7.0, "tuning": 1.0})

    def test_failures_are_named(self):
        self.assertIn("No such file", measure(["/nowhere/program"], {}, 5).failure)
        self.assertEqual(measure(python("import sys; sys.exit('no luck')"), {}, 30).failure, "exit status 1: no luck")
        self.assertIn("SIGKILL", measure(python("import os; os.kill(os.getpid(), 9)"), {}, 30).failure)
        self.assertIn("no TIME", measure(python("pass"), {}, 30).failure)

    def test_a_hang_ends_at_the_limit_even_with_closed_output(self):
        begin = time.monotonic()
        run = measure(python("import os, time; os.close(1); os.close(2); time.sleep(60)"), {}, 0.5)
        self.assertEqual(run.failure, "no end within 0.5 s")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertFalse(any(isinstance(thread, threading.Timer) and thread.is_alive() and not thread.finished.is_set()
                             for thread in threading.enumerate()))

    def test_comity_stands_before_the_unchanged_command(self):
        self.assertEqual(command_line(Path("/b/comity"), ("prog", "a"), ("--x",)), ["/b/comity", "run", "--", "prog", "a", "--x"])
        self.assertEqual(command_line(None, ("prog", "a"), ()), ["prog", "a"])


if __name__ == "__main__":
    unittest.main()
