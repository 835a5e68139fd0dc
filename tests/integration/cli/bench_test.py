"""comity bench: finds the harness and the programs of an installation or a build folder, and hands on what was asked."""
import os
import subprocess
import sys
import unittest

from cli_case import SOURCE, cli_case

HARNESS = "import sys\nprint(sys.argv[1:])\nsys.exit(3)\n"  # a stand-in


class bench(cli_case):
    def place(self, name, text, mode=0o755):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        self.addCleanup(os.remove, path)
        return path

    def test_without_the_harness_it_says_what_is_missing_and_what_to_do(self):
        result = self.run_comity("bench")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.prefix}/share/comity/bench/run.py is missing; install Comity again", result.stderr)

    def test_without_the_programs_it_says_how_to_get_them(self):
        self.place("prefix/share/comity/bench/run.py", HARNESS)
        result = self.run_comity("bench")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"are not in {self.prefix}/lib/comity/bench", result.stderr)
        self.assertIn(f"make install PREFIX={self.prefix} BUILD_ARGS='--target products bench_programs'", result.stderr)

    def test_the_list_needs_no_programs(self):
        self.place("prefix/share/comity/bench/run.py", HARNESS)
        result = self.run_comity("bench", "--list")
        self.assertEqual((result.returncode, result.stderr), (3, ""))
        self.assertIn("--list", eval(result.stdout))

    def test_every_suite_of_the_harness_is_offered(self):
        self.place("prefix/share/comity/bench/run.py", HARNESS)
        sys.path.insert(0, os.path.join(SOURCE, "bench"))
        self.addCleanup(sys.path.remove, os.path.join(SOURCE, "bench"))
        from harness.registry import SUITES
        for suite in [*SUITES, "all"]:
            result = self.run_comity("bench", "--list", suite)
            self.assertEqual((result.returncode, result.stderr), (3, ""), suite)
            self.assertIn(suite, eval(result.stdout))

    def test_an_installation_runs_its_harness_which_writes_no_page(self):
        self.place("prefix/share/comity/bench/run.py", HARNESS)
        self.place("prefix/lib/comity/bench/support/rate", "#!/bin/sh\n")
        result = self.run_comity("bench", "--quick", "--only", "fib", "--only", "uts", "--repeats", "2", "nested")
        self.assertEqual((result.returncode, result.stderr), (3, ""))
        self.assertEqual(eval(result.stdout), [
            "--called-as", "comity bench", "--build", self.prefix, "--programs", f"{self.prefix}/lib/comity/bench", "--no-write",
            "--suite", "nested", "--quick", "--only", "fib", "--only", "uts", "--repeats", "2"])

    def test_a_build_folder_runs_the_harness_of_its_sources(self):
        self.place("prefix/CMakeCache.txt", f"# a cache\nCMAKE_HOME_DIRECTORY:INTERNAL={self.folder}/source\n")
        result = self.run_comity("bench")
        self.assertIn(f"{self.folder}/source/bench/run.py is missing", result.stderr)
        self.place("source/bench/run.py", HARNESS)
        self.assertIn(f"cmake --build {self.prefix} --target bench_programs", self.run_comity("bench").stderr)
        self.place("prefix/bench/support/rate", "#!/bin/sh\n")
        words = eval(self.run_comity("bench", "--list").stdout)
        self.assertEqual(words[2:], ["--build", self.prefix, "--programs", f"{self.prefix}/bench", "--suite", "threads", "--list"])

    def test_a_reader_that_has_enough_gets_no_traceback(self):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            result = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "bench/run.py"), "--list"], stdout=writer,
                                    stderr=subprocess.PIPE, text=True, timeout=60)
        finally:
            os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (1, ""))

    def test_bad_words_are_answered_before_anything_runs(self):
        for words, text in ((["threds"], "threds"), (["--repeats", "0"], "0"), (["--repeats", "many"], "many"), (["--onyl"], "--onyl")):
            result = self.run_comity("bench", *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(text, result.stderr)
            self.assertIn("see `comity bench --help`", result.stderr)


if __name__ == "__main__":
    unittest.main()
