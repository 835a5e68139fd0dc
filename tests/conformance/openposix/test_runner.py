"""The runner itself: which files are tests, where the suite is looked for, what a test's exit status means."""
import tempfile
import unittest
from pathlib import Path

import suite
from debian_source import source_error
from openposix import openposix
from posix_threads.execute import build_error, execute

FILES = ("pthread_join/1-1.c", "pthread_join/speculative/6-1.c", "pthread_join/testfrmw.c", "pthread_once/4-1-buildonly.c",
         "sem_wait/11-1.c", "sem_wait/assertions.xml", "aio_read/1-1.c")


class Suite(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def put(self, name: str, text: str = ""):
        file = self.folder / suite.INTERFACES / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_threads_and_semaphores_are_its_tests(self):
        for name in FILES:
            self.put(name)
        tests = {case.name: case.unsupported for case in suite.all_tests(suite.given(self.folder)[0])}
        self.assertEqual(sorted(tests), ["pthread_join/1-1", "pthread_join/speculative/6-1", "pthread_once/4-1-buildonly", "sem_wait/11-1"])
        self.assertEqual([name for name, why in tests.items() if why], ["pthread_once/4-1-buildonly"])

    def test_what_sets_the_machines_clock_is_not_run(self):
        self.put("sem_timedwait/1-1.c", "ret = clock_settime(CLOCK_REALTIME, &ts);")
        self.assertTrue(suite.all_tests(self.folder)[0].unsupported)

    def test_another_folder_is_refused(self):
        with self.assertRaises(source_error):
            suite.given(self.folder)

    def test_the_exit_status_is_the_verdict(self):
        verdicts = {}
        for code in (0, 1, 2, suite.UNSUPPORTED, suite.UNTESTED):
            name = f"sem_wait/{code}-1"
            self.put(f"{name}.c", f"int main(void) {{ return {code}; }}")
            program = suite.build(suite.test_case(name, self.folder / suite.INTERFACES / f"{name}.c"), self.folder, self.folder / "out" / name)
            verdicts[code] = execute(program, [], [], openposix.unsupported, 20).status
        self.assertEqual(verdicts, {0: "pass", 1: "fail", 2: "fail", 4: "unsupported", 5: "unsupported"})

    def test_what_does_not_compile_is_named(self):
        self.put("sem_wait/1-1.c", "int main(void) { return nothing; }")
        case = suite.test_case("sem_wait/1-1", self.folder / suite.INTERFACES / "sem_wait/1-1.c")
        with self.assertRaisesRegex(build_error, "nothing"):
            suite.build(case, self.folder, self.folder / "out")


if __name__ == "__main__":
    unittest.main()
