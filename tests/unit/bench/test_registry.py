"""The registry is well formed, and holds every promise of the project about nested regions."""
import fnmatch
import os
import unittest

import harness_path
from harness.bars import KINDS
from harness.machine import distribution, processor_name, processors
from harness.libraries import library_of
from harness.registry import SUITES
from harness.registry_scaling import SCALING_SUITES

CASES = [case for suite in SUITES.values() for case in suite.cases]
BY_LIBRARY = [*SUITES["threads"].cases, *SUITES["scaling-threads"].cases]  # each library has a program of its own
PROMISES = {
    "flat-2": {("ratio_at_most", "libgomp-default", 1.05)},
    "flat-8": {("times_faster", "libgomp-default", 25)},
    "flat-56": {("times_faster", "libgomp-default", 25)},
    "nested-8x8": {("times_faster", "libgomp", 150), ("times_faster", "libomp", 15)},
    "nested-56x56": {("times_faster", "libgomp", 300), ("times_faster", "libomp", 40)},
    "recursion-5": {("times_faster", "libgomp", 250), ("times_faster", "libomp", 40)},
    "startup-true": {("added_at_most", "plain", 5)},
    "startup-compute": {("ratio_at_most", "plain", 1.01)},
    "matmul-2": {("times_faster", "comity", 1.9)},
    "nqueens-2": {("times_faster", "comity", 1.9)},
    "mutex-16": {("ratio_at_most", "pthread", 15 / 17), ("ratio_at_most", "go", 15 / 13)},
    "omp-fib-2": {("times_faster", "lib*", 2), ("ratio_at_most", "comity", 1.1), ("ratio_at_most", "comity", 0.52)},
    "omp-sort-2": {("times_faster", "lib*", 2), ("ratio_at_most", "comity", 1.1)},
    "omp-taskwait-of-8": {("ratio_at_most", "lib*", 1)},
    "omp-barrier-of-2": {("ratio_at_most", "lib*", 1)},
    "omp-ordered-of-8": {("ratio_at_most", "lib*", 1)},
    **{f"npb-{kernel}-W-2": {("ratio_at_most", "lib*", 1.03), ("ratio_at_most", "clang-lib*", 1.03)} for kernel in ("cg", "ft", "is", "ep")},
    **{f"npb-{kernel}-W-8": {("ratio_at_most", "comity", 1), ("ratio_at_most", "comity-clang", 1)} for kernel in ("cg", "ft", "is", "ep")},
    **{f"fftw-{plan}-{inner}": {("ratio_at_most", "comity", 1.02), ("ratio_at_most", "lib*", 1.02), ("ratio_at_most", "comity-clang", 1.02)}
       for plan, inner in (("2d-16", 2), ("2d-16", 4), ("2d-16", 8), ("3d", 4), ("3d", 8))},
    "posix-create": {("at_most", None, 1500)},
    "posix-lock": {("ratio_at_most", "glibc", 1.1)},
    "posix-hand-over": {("ratio_at_most", "glibc", 1)},
    "posix-fmm": {("times_faster", "glibc", 1.3)},
    "posix-volume": {("ratio_at_most", "glibc", 1), ("ratio_at_most", "coarse", 1.05)},
    **{f"posix-{program}-alive": {("share_at_most", "comity-fifo-8", 0.1)} for program in ("matmul", "fmm", "decision_tree")},
    **{f"posix-{program}-heap": {("beside_half_more", "serial", 2)} for program in ("matmul", "fmm", "decision_tree")},
    "posix-tree": {("at_most", None, 120)},
    "server-mariadb-read": {("ratio_at_most", "glibc", 1 / 0.95)},
    "server-nginx-aio-cpu": {("ratio_at_most", "glibc", 1.1)},
    "guarded-1000000": {("at_most", None, 4500)},
}


class Registry(unittest.TestCase):
    def test_names_are_unique_within_a_suite(self):
        for suite in SUITES.values():
            names = [case.name for case in suite.cases]
            self.assertEqual(len(names), len(set(names)))

    def test_titles_of_the_rows_that_a_plot_of_openmp_shows_are_unique(self):
        for name in ("nested", "omptasks", "ompsync", "npb", "fftw"):
            titles = [case.title for case in SUITES[name].cases]
            self.assertEqual(len(titles), len(set(titles)), name)

    def test_bars_use_known_kinds_and_contenders_of_their_row(self):
        for case in CASES:
            for bar in case.bars:
                self.assertIn(bar.kind, KINDS)
                self.assertIn(bar.who, case.contenders)
                self.assertIn(bar.source, ("issue", "anchor"))
                if bar.peer is not None and "*" not in bar.peer:
                    self.assertIn(bar.peer, case.contenders)

    def test_a_bar_against_another_row_names_one_of_its_suite_that_has_the_peer(self):
        for suite in SUITES.values():
            rows = {case.name: case for case in suite.cases}
            for case in suite.cases:
                for bar in case.bars:
                    if bar.case is not None:
                        self.assertTrue(fnmatch.filter(rows[bar.case].contenders, bar.peer), case.name)

    def test_every_program_has_its_source(self):
        for case in CASES:
            if not case.program.startswith("/") and case not in BY_LIBRARY:
                here = harness_path.REPOSITORY / "bench" / case.program
                example = harness_path.REPOSITORY / "examples" / "pthreads" / here.name
                sources = [here.with_suffix(".cpp"), *([here.with_suffix(".c"), example.with_suffix(".c")] if here.parent.name == "posix" else [])]
                self.assertTrue(any(source.is_file() for source in sources), case.program)

    def test_every_library_has_its_source_in_every_workload_that_lists_it(self):
        for case in BY_LIBRARY:
            for contender in case.contenders:
                library = library_of(contender)
                ending = {"go": "go", "rayon": "rs"}.get(library, "cpp")
                source = harness_path.REPOSITORY / "bench" / case.program / f"{library}.{ending}"
                self.assertTrue(source.is_file(), source)

    def test_every_source_takes_part_in_a_row(self):
        listed = {(case.program, library_of(name)) for case in SUITES["threads"].cases for name in case.contenders}
        for program in {case.program for case in SUITES["threads"].cases}:
            for source in (harness_path.REPOSITORY / "bench" / program).glob("*.*"):
                if source.suffix in (".cpp", ".go", ".rs"):
                    self.assertIn((program, source.stem), listed)

    def test_rows_that_share_their_processes_ask_for_the_same_run(self):
        together = {}
        for case in SUITES["threads"].cases:
            if case.together:
                together.setdefault(case.together, set()).add((case.program, tuple(case.arguments), case.rounds))
        self.assertTrue(together)
        for name, runs in together.items():
            self.assertEqual(len(runs), 1, name)

    def test_the_figures_of_the_thesis_have_every_point(self):
        points = {(case.metric, name) for case in SUITES["threads"].cases if case.together == "forkjoin" for name in case.contenders}
        for order in ("forward", "reverse"):
            for d in (0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100):
                self.assertIn((f"n4096-d{d}-{order}", "comity-c_roc_e"), points)
            for n in (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536):
                self.assertIn((f"n{n}-d0-{order}", "comity-full"), points)
                self.assertIn((f"n{n}-d100-{order}", "comity-full"), points)
        self.assertNotIn(("n4096-d10-forward", "tbb"), points)
        self.assertNotIn(("n256-d0-reverse", "rayon"), points)

    def test_the_figures_of_openmp_have_every_point(self):
        names = {case.name for case in SUITES["figures"].cases}
        for point in ("4.7-56", "4.8a-56", "4.8b-32", "4.10-2", "4.11-0.1", "4.11-10", "4.13-0", "4.13-5"):
            self.assertIn(f"figure-{point}", names)

    def test_a_quick_run_has_a_row_of_every_group(self):
        for suite in SUITES.values():
            self.assertEqual({case.group for case in suite.cases}, {case.group for case in suite.cases if case.quick_too})

    def test_the_promises_stand(self):
        found = {case.name: {(bar.kind, bar.peer, bar.limit) for bar in case.bars if bar.source == "issue"} for case in CASES}
        for name, promises in PROMISES.items():
            self.assertEqual(found[name], promises, name)


class Scaling(unittest.TestCase):
    def test_a_row_has_as_many_workers_as_cores(self):
        for name in ("scaling-threads", "scaling-openmp"):
            for case in SUITES[name].cases:
                self.assertIn(str(case.cores), case.arguments, case.name)

    def test_each_curve_has_a_point_for_each_number_of_cores(self):
        for suite in SCALING_SUITES.values():
            for title in {case.group for case in suite.cases}:
                cores = [case.cores for case in suite.cases if case.group == title]
                self.assertEqual(cores, [number for number in (1, 2, 4, 8, 16, 32, 64) if number >= cores[0]], title)


class Machine(unittest.TestCase):
    def test_processors_are_those_that_this_process_may_use(self):
        mine = os.sched_getaffinity(0)
        self.assertEqual({int(number) for number in processors(len(mine)).split(",")}, mine)
        self.assertEqual(len(processors(1).split(",")), 1)

    def test_the_processor_is_named(self):
        self.assertEqual(processor_name("processor: 0\nmodel name\t: A Processor\n"), "A Processor")
        self.assertTrue(processor_name(""))

    def test_the_distribution_is_named(self):
        self.assertEqual(distribution('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'), "Debian GNU/Linux 12 (bookworm)")


if __name__ == "__main__":
    unittest.main()
