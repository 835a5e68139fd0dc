"""glibc's own tests of POSIX threads, from Debian's glibc source package, on the C library's threads and on Comity's.

Exits with 0 if every test that passes on stock passes on Comity or is explained in expected.json, and with 1 if not.
A run of everything writes docs/results/conformance-pthread.md and .json.
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

import report
import suite
from build import build, build_error, support
from execute import comity_run, creates_threads, execute
from runner import ROOT, add_options, chosen, drop_in_folder, output_of, progress, revision, say, say_failure
from source import glibc_tests, source_error

CACHE = ROOT / "build" / "conformance" / "nptl"
RESULTS = CACHE / "results.json"
EXPECTED = Path(__file__).with_name("expected.json")
SECONDS = 120  # the tests themselves end after 20 unless they say otherwise, and some say 100


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, SECONDS)
    parser.add_argument("--page", action="store_true", help="run nothing; write the page of the last results of all tests")
    parser.add_argument("--comity", type=Path, metavar="FILE", help="the command `comity` to run them with",
                        default=drop_in_folder().parents[1] / "bin" / "comity")
    return parser.parse_args()


def run(case, options: argparse.Namespace, last: dict) -> dict:
    if case.unsupported:
        return {"unsupported": case.unsupported}
    folder = CACHE / "programs" / case.name
    try:
        program = build(case, options.source, options.library, folder)
    except build_error as error:
        return {"unsupported": f"cannot be built outside glibc: {error}"}
    known = last.get(case.name, {}).get("stock")
    stock = known if known and known["status"] == "pass" and not options.fresh else execute(case, program, [], options.timeout).record()
    if stock["status"] == "unsupported":
        return {"unsupported": stock["why"]}
    for _ in range(options.repeat):
        comity = execute(case, program, comity_run(options.comity), options.timeout).record()
        if comity["status"] != "pass":
            break
    return {"stock": stock, "comity": comity, "creates": creates_threads(program)}


def keep(results: dict):
    """As they come: a run of everything that is broken off is gone on with by --only and --page."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}  # another run may have added to it
    RESULTS.write_text(json.dumps({**kept, **results}))


def run_all(tests: list, options: argparse.Namespace, last: dict) -> dict:
    results, bad = {}, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(run, case, options, last): case for case in tests}
        for number, job in enumerate(as_completed(jobs), 1):
            case, result = jobs[job], job.result()
            results[case.name] = result
            keep({case.name: result})
            done = result.get("comity")
            if done and done["status"] != "pass":
                bad += 1
                say_failure(case.name, done, result["stock"], options.verbose)
            progress(number, len(tests), case.name, bad)
    say(f"nptl: {len(tests)} tests, {bad} not passed on Comity")
    return results


def setting(options: argparse.Namespace) -> dict:
    return {"date": time.strftime("%Y-%m-%d"), "Comity": revision(),
            "tests": (options.source / "version").read_text().strip(), "compiler": output_of("gcc", "--version").splitlines()[0],
            "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.release()}"}


def conclude(results: dict) -> int:
    known = json.loads(EXPECTED.read_text())
    found = report.failures(results, known)
    unexplained = [one for one in found if not one["explained"]]
    for one in unexplained:
        say(f"unexplained: {one['test']}: {one['why']}")
    for pattern in report.stale(results, known):
        say(f"expected.json names {pattern}, which passes")
    say(f"nptl: {len(found)} failures on Comity that stock does not have, {len(unexplained)} unexplained")
    return 1 if unexplained else 0


def main() -> int:
    options = arguments()
    try:
        options.source = glibc_tests(CACHE)
    except source_error as error:
        print(f"nptl: {error}", file=sys.stderr)
        return 2
    last = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    everything = suite.all_tests(options.source)
    tests = chosen(everything, options, last)
    if options.list:
        print("\n".join(f"{case.name}{'  unsupported: ' + case.unsupported if case.unsupported else ''}" for case in tests))
        return 0
    options.comity = options.comity.resolve()
    if not options.comity.exists():
        print(f"nptl: {options.comity} is not there; make build, or --comity FILE", file=sys.stderr)
        return 2
    if not tests:
        print("nptl: no test is chosen", file=sys.stderr)
        return 2
    if options.page:
        results = {case.name: last[case.name] for case in everything if case.name in last}
    else:
        options.library = support(options.source, CACHE)
        results = run_all(tests, options, last)
    if len(results) == len(everything):
        report.write(results, json.loads(EXPECTED.read_text()), setting(options), ROOT / "docs" / "results")
    return conclude(results)


if __name__ == "__main__":
    sys.exit(main())
