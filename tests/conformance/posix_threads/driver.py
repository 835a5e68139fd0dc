"""The order of things in a suite of tests of POSIX threads: build each test, run it on stock and on Comity, judge, write the page.

Exits with 0 if every test that passes on stock passes on Comity or is explained in the suite's expected.json, and with 1
if not. A run of everything writes the suite's page below docs/results.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from debian_source import source_error
from posix_threads import report
from posix_threads.execute import build_error, comity_run, creates_threads, execute
from runner import ROOT, add_options, chosen, drop_in_folder, output_of, progress, revision, say, say_failure


class thread_suite:
    """What one suite adds. Its cases have a `name`, `arguments`, and `unsupported`: why a test is not run, or nothing."""
    name = ""
    title = ""
    target = ""  # of make
    page = ""    # docs/results/PAGE.md
    seconds = 120.0
    unsupported: tuple[int, ...] = ()  # exit statuses
    expected = Path()

    def add_options(self, parser: argparse.ArgumentParser):
        pass

    def fetch(self, options: argparse.Namespace) -> tuple[Path, str]:
        """The sources, and what they are."""
        raise NotImplementedError

    def all_tests(self, source: Path) -> list:
        raise NotImplementedError

    def prepare(self, source: Path):
        """What all tests are built with."""

    def build(self, case, source: Path, folder: Path) -> Path:
        """The program `test` in that folder; raises build_error."""
        raise NotImplementedError

    @property
    def cache(self) -> Path:
        return ROOT / "build" / "conformance" / self.name

    @property
    def results(self) -> Path:
        return self.cache / "results.json"


def arguments(suite: thread_suite, description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, suite.seconds)
    parser.add_argument("--page", action="store_true", help="run nothing; write the page of the last results of all tests")
    parser.add_argument("--comity", type=Path, metavar="FILE", help="the command `comity` to run them with",
                        default=drop_in_folder().parents[1] / "bin" / "comity")
    suite.add_options(parser)
    return parser.parse_args()


def run(suite: thread_suite, case, options: argparse.Namespace, last: dict) -> dict:
    if case.unsupported:
        return {"unsupported": case.unsupported}
    try:
        program = suite.build(case, options.source, suite.cache / "programs" / case.name)
    except build_error as error:
        return {"unsupported": f"cannot be built here: {error}"}
    known = last.get(case.name, {}).get("stock")
    stock = known if known and known["status"] == "pass" and not options.fresh else \
        execute(program, case.arguments, [], suite.unsupported, options.timeout).record()
    if stock["status"] == "unsupported":
        return {"unsupported": stock["why"]}
    for _ in range(options.repeat):
        comity = execute(program, case.arguments, comity_run(options.comity), suite.unsupported, options.timeout).record()
        if comity["status"] != "pass":
            break
    return {"stock": stock, "comity": comity, "creates": creates_threads(program)}


def keep(suite: thread_suite, results: dict):
    """As they come: a run of everything that is broken off is gone on with by --only and --page."""
    kept = json.loads(suite.results.read_text()) if suite.results.exists() else {}  # another run may have added to it
    suite.results.write_text(json.dumps({**kept, **results}))


def run_all(suite: thread_suite, tests: list, options: argparse.Namespace, last: dict) -> dict:
    results, bad = {}, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(run, suite, case, options, last): case for case in tests}
        for number, job in enumerate(as_completed(jobs), 1):
            case, result = jobs[job], job.result()
            results[case.name] = result
            keep(suite, {case.name: result})
            done = result.get("comity")
            if done and done["status"] != "pass":
                bad += 1
                say_failure(case.name, done, result["stock"], options.verbose)
            progress(number, len(tests), case.name, bad)
    say(f"{suite.name}: {len(tests)} tests, {bad} not passed on Comity")
    return results


def setting(version: str) -> dict:
    return {"date": time.strftime("%Y-%m-%d"), "Comity": revision(), "tests": version,
            "compiler": output_of("gcc", "--version").splitlines()[0],
            "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.release()}"}


def conclude(suite: thread_suite, results: dict) -> int:
    known = json.loads(suite.expected.read_text())
    found = report.failures(results, known)
    unexplained = [one for one in found if not one["explained"]]
    for one in unexplained:
        say(f"unexplained: {one['test']}: {one['why']}")
    for pattern in report.stale(results, known):
        say(f"expected.json names {pattern}, which passes")
    say(f"{suite.name}: {len(found)} failures on Comity that stock does not have, {len(unexplained)} unexplained")
    return 1 if unexplained else 0


def fail(suite: thread_suite, why) -> int:
    print(f"{suite.name}: {why}", file=sys.stderr)
    return 2


def run_suite(suite: thread_suite, description: str) -> int:
    options = arguments(suite, description)
    try:
        options.source, version = suite.fetch(options)
    except source_error as error:
        return fail(suite, error)
    suite.cache.mkdir(parents=True, exist_ok=True)
    last = json.loads(suite.results.read_text()) if suite.results.exists() else {}
    everything = suite.all_tests(options.source)
    tests = chosen(everything, options, last)
    if options.list:
        print("\n".join(f"{case.name}{'  unsupported: ' + case.unsupported if case.unsupported else ''}" for case in tests))
        return 0
    options.comity = options.comity.resolve()
    if not options.comity.exists():
        return fail(suite, f"{options.comity} is not there; make build, or --comity FILE")
    if not tests:
        return fail(suite, "no test is chosen")
    if options.page:
        results = {case.name: last[case.name] for case in everything if case.name in last}
    else:
        suite.prepare(options.source)
        results = run_all(suite, tests, options, last)
    if len(results) == len(everything):
        report.write(results, json.loads(suite.expected.read_text()), setting(version), suite.title, suite.target,
                     ROOT / "docs" / "results" / suite.page)
    return conclude(suite, results)
