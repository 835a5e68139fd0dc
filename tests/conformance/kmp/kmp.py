"""LLVM's OpenMP runtime tests, from Debian's llvm-toolchain-14 source package, on stock libomp and on Comity's drop-in.

Exits with 0 if every test that passes on stock passes on Comity or is explained in expected.json, and with 1 if not.
A run of everything writes docs/results/conformance-kmp.md and .json.
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
from execute import execute
from runner import ROOT, add_options, chosen, drop_in_folder, output_of, progress, revision, say, say_failure
from source import llvm_tests, source_error

CACHE = ROOT / "build" / "conformance" / "kmp"
RESULTS = CACHE / "results.json"
EXPECTED = Path(__file__).with_name("expected.json")
STOCK = suite.LLVM / "lib"
SECONDS = 200  # some tasks only sleep: on two cores that takes 125 s


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, SECONDS)
    parser.add_argument("--page", action="store_true", help="run nothing; write the page of the last results of all tests")
    parser.add_argument("--drop-ins", type=Path, metavar="FOLDER", default=drop_in_folder())
    return parser.parse_args()


def run(case, options: argparse.Namespace, last: dict) -> dict:
    if case.unsupported:
        return {"unsupported": case.unsupported}
    folder = CACHE / "programs" / case.name
    known = last.get(case.name, {}).get("stock")
    stock = known if known and known["status"] == "pass" and not options.fresh else execute(case, STOCK, folder / "stock", options.timeout).record()
    for _ in range(options.repeat):
        comity = execute(case, options.drop_ins, folder / "comity", options.timeout).record()
        if comity["status"] != "pass":
            break
    return {"stock": stock, "comity": comity}


def run_all(tests: list, options: argparse.Namespace, last: dict) -> dict:
    results, bad = {}, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(run, case, options, last): case for case in tests}
        for number, job in enumerate(as_completed(jobs), 1):
            case, result = jobs[job], job.result()
            results[case.name] = result
            done = result.get("comity")
            if done and done["status"] != "pass":
                bad += 1
                say_failure(case.name, done, result["stock"], options.verbose)
            progress(number, len(tests), case.name, bad)
    say(f"kmp: {len(tests)} tests, {bad} not passed on Comity")
    return results


def setting(options: argparse.Namespace, tests: Path) -> dict:
    return {"date": time.strftime("%Y-%m-%d"), "Comity": revision(),
            "tests": (tests.parent / "version").read_text().strip(),
            "compiler": output_of(f"{suite.LLVM}/bin/clang", "--version").splitlines()[0],
            "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores"}


def conclude(results: dict) -> int:
    known = json.loads(EXPECTED.read_text())
    found = report.failures(results, known)
    unexplained = [one for one in found if not one["explained"]]
    for one in unexplained:
        say(f"unexplained: {one['test']}: {one['why']}")
    for pattern in report.stale(results, known):
        say(f"expected.json names {pattern}, which passes")
    say(f"kmp: {len(found)} failures on Comity that stock does not have, {len(unexplained)} unexplained")
    return 1 if unexplained else 0


def main() -> int:
    options = arguments()
    try:
        folder = llvm_tests(CACHE)
    except source_error as error:
        print(f"kmp: {error}", file=sys.stderr)
        return 2
    last = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    everything = suite.all_tests(folder)
    tests = chosen(everything, options, last)
    if options.list:
        print("\n".join(f"{case.name}{'  unsupported: ' + case.unsupported if case.unsupported else ''}" for case in tests))
        return 0
    options.drop_ins = options.drop_ins.resolve()
    for needed in (options.drop_ins / "libomp.so.5", STOCK / "libomp.so.5", suite.LLVM / "bin/clang", suite.LLVM / "bin/FileCheck"):
        if not needed.exists():
            print(f"kmp: {needed} is not there; make build, scripts/install-dependencies conformance, or --drop-ins FOLDER",
                  file=sys.stderr)
            return 2
    if not tests:
        print("kmp: no test is chosen", file=sys.stderr)
        return 2
    if options.page:
        results = {case.name: last[case.name] for case in everything if case.name in last}
    else:
        results = run_all(tests, options, last)
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}  # another run may have added to it
        RESULTS.write_text(json.dumps({**kept, **results}))
    if len(results) == len(everything):
        report.write(results, json.loads(EXPECTED.read_text()), setting(options, folder), ROOT / "docs" / "results")
    return conclude(results)


if __name__ == "__main__":
    sys.exit(main())
