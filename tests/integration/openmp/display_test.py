"""What OMP_DISPLAY_ENV and %i show: the form of the library that the program was linked with, whichever drop-ins are preloaded. Called
with a word for the compiler, `gcc` or `clang`, the paths of the drop-ins and that of `display`, then unittest's arguments.
"""
import os
import subprocess
import sys
import unittest

compiler, drop_ins, program = sys.argv[1:4]
GCC = {"OMP_SCHEDULE": "DYNAMIC", "OMP_ALLOCATOR": "omp_default_mem_alloc", "OMP_TARGET_OFFLOAD": "DEFAULT", "OMP_DYNAMIC": "FALSE",
       "OMP_AFFINITY_FORMAT": "level %L thread %i affinity %A", "OMP_PROC_BIND": "FALSE"}
LLVM = {"OMP_SCHEDULE": "static", "OMP_ALLOCATOR": "omp_default_mem_alloc", "OMP_DYNAMIC": "FALSE", "OMP_PROC_BIND": "false",
        "OMP_AFFINITY_FORMAT": "OMP: pid %P tid %i thread %n bound to OS proc set {%A}"}


def run(*words, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_", "COMITY_"))}
    return subprocess.run(words, env=clean | {"LD_PRELOAD": drop_ins, "COMITY_HARTS": "2"} | variables, capture_output=True, text=True,
                          timeout=50)


def shape(name, value):
    return f"  [host] {name}='{value}'" if compiler == "clang" else f"  {name} = '{value}'"


class display(unittest.TestCase):
    def lines(self, wanted="true", **variables):
        done = run(program, OMP_DISPLAY_ENV=wanted, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.splitlines()

    def expect(self, values, lines):
        for name, value in values.items():
            self.assertIn(shape(name, value), lines)

    def test_what_holds_by_default_is_the_originals(self):
        lines = self.lines()
        self.assertIn("   _OPENMP='201611'" if compiler == "clang" else "  _OPENMP = '201511'", lines)
        self.expect(LLVM if compiler == "clang" else GCC, lines)
        if compiler == "clang":
            for undefined in ("OMP_NUM_THREADS", "OMP_PLACES"):
                self.assertIn(f"  [host] {undefined}: value is not defined", lines)
        # At the start for OMP_DISPLAY_ENV and at the end for omp_display_env: the same, once each.
        self.assertEqual(lines.count("OPENMP DISPLAY ENVIRONMENT BEGIN"), 2)
        half = len(lines) // 2
        self.assertEqual(lines[:half], lines[half:])

    def test_what_was_said_is_shown(self):
        cpu = min(os.sched_getaffinity(0))
        said = {"OMP_NUM_THREADS": "3,2", "OMP_SCHEDULE": "monotonic:dynamic,7", "OMP_PROC_BIND": "close,spread", "OMP_PLACES": f"{{{cpu}}}",
                "OMP_STACKSIZE": "2M", "OMP_ALLOCATOR": "omp_large_cap_mem_alloc", "OMP_AFFINITY_FORMAT": "x%ny", "OMP_WAIT_POLICY": "ACTIVE"}
        shown = said if compiler == "clang" else said | {"OMP_STACKSIZE": str(2 << 20), "OMP_PROC_BIND": "CLOSE,SPREAD",
                                                         "OMP_SCHEDULE": "MONOTONIC:DYNAMIC,7"}
        self.expect(shown, self.lines(**said))

    def test_schedules(self):
        for said, llvm, gcc in (("static", "static", "STATIC"), ("static,3", "static,3", "STATIC,3"), ("guided", "guided", "GUIDED"),
                                ("nonmonotonic:static", "nonmonotonic:static", "NONMONOTONIC:STATIC"), ("auto", "auto", "AUTO"),
                                ("dynamic", "dynamic", "DYNAMIC"), ("guided,4", "guided,4", "GUIDED,4")):
            with self.subTest(said):
                self.expect({"OMP_SCHEDULE": llvm if compiler == "clang" else gcc}, self.lines(OMP_SCHEDULE=said))

    def test_verbose_has_more(self):
        self.expect({"COMITY_HARTS": "2"}, self.lines("verbose"))
        if compiler == "clang":
            self.expect({"KMP_LIBRARY": "throughput", "KMP_BLOCKTIME": "infinite"}, self.lines("verbose", KMP_BLOCKTIME="infinite"))
        else:
            self.expect({"GOMP_CPU_AFFINITY": "", "GOMP_SPINCOUNT": "2k", "GOMP_STACKSIZE": "1048576"},
                        self.lines("verbose", GOMP_SPINCOUNT="2k", GOMP_STACKSIZE="1M"))

    def test_a_program_without_openmp_prints_nothing(self):
        self.assertEqual(run("true", OMP_DISPLAY_ENV="true").stderr, "")

    def test_a_bad_flag_of_reductions_is_named(self):
        if compiler == "clang":
            line = 'comity: KMP_DETERMINISTIC_REDUCTION="maybe": not true or false; using false'
            self.assertIn(line, run(program, KMP_DETERMINISTIC_REDUCTION="maybe").stderr.splitlines())
            self.assertNotIn("comity: ", run(program, KMP_DETERMINISTIC_REDUCTION=".true.").stderr)

    def test_native_thread_ids_are_the_originals(self):
        done = run(program)
        fields = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(len(fields), 4, done.stdout)
        for shown, kernel, thread in fields:
            self.assertEqual(shown, kernel if compiler == "clang" else thread)


if __name__ == "__main__":
    unittest.main(argv=["display", *sys.argv[4:]])
