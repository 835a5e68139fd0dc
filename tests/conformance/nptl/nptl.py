"""glibc's own tests of POSIX threads, from Debian's glibc source package, on the C library's threads and on Comity's.

Exits with 0 if every test that passes on stock passes on Comity or is explained in expected.json, and with 1 if not.
A run of everything writes docs/results/conformance-pthread.md and .json.
"""
from __future__ import annotations

import sys
from pathlib import Path

import build
import suite
from posix_threads.driver import run_suite, thread_suite
from source import glibc_tests


class nptl(thread_suite):
    name = "nptl"
    title = "glibc's tests of POSIX threads"
    target = page = "conformance-pthread"
    seconds = 120.0  # the tests themselves end after 20 unless they say otherwise, and some say 100
    unsupported = (77,)
    expected = Path(__file__).with_name("expected.json")

    def fetch(self, options):
        source = glibc_tests(self.cache)
        return source, (source / "version").read_text().strip()

    def all_tests(self, source: Path) -> list:
        return suite.all_tests(source)

    def prepare(self, source: Path):
        self.library = build.support(source, self.cache)

    def build(self, case, source: Path, folder: Path) -> Path:
        return build.build(case, source, self.library, folder)


if __name__ == "__main__":
    sys.exit(run_suite(nptl(), __doc__))
