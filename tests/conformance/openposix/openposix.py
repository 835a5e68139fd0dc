"""The Open POSIX tests of threads and semaphores, on the C library's threads and on Comity's.

From Debian's source package posixtestsuite (version 1.5.2, of 2005), or with --suite from a copy of the Linux Test
Project, which maintains them: its folder testcases/open_posix_testsuite.
Exits with 0 if every test that passes on stock passes on Comity or is explained in expected.json (expected-debian.json), and with 1
if not.
A run of everything writes docs/results/conformance-openposix.md and .json, of Debian's conformance-openposix-debian.
"""
from __future__ import annotations

import sys
from pathlib import Path

import suite
from posix_threads.driver import run_suite, thread_suite
from runner import ROOT


class openposix(thread_suite):
    name = "openposix"
    title = "The Open POSIX tests of threads and semaphores"
    target = "conformance-openposix"
    seconds = 60.0
    unsupported = (suite.UNSUPPORTED, suite.UNTESTED)

    def add_options(self, parser):
        parser.add_argument("--suite", type=Path, metavar="FOLDER",
                            help="the tests of the Linux Test Project, its folder testcases/open_posix_testsuite")

    def fetch(self, options):
        self.page = self.target if options.suite else f"{self.target}-debian"
        self.expected = Path(__file__).with_name("expected.json" if options.suite else "expected-debian.json")
        return suite.given(options.suite) if options.suite else suite.debians(self.cache)

    @property
    def cache(self) -> Path:
        return ROOT / "build" / "conformance" / self.page.removeprefix("conformance-")

    def all_tests(self, source: Path) -> list:
        return suite.all_tests(source)

    def build(self, case, source: Path, folder: Path) -> Path:
        return suite.build(case, source, folder)


if __name__ == "__main__":
    sys.exit(run_suite(openposix(), __doc__))
