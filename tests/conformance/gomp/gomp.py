"""libgomp's own test suite, from Debian's gcc-12 source package, on stock libgomp and on Comity's drop-in.

Exits with 0 if every test that passes on stock passes on Comity or is explained in expected.json, and with 1 if not.
A run of everything writes docs/results/conformance-gomp.md and .json.
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
from build import build
from execute import execute
from runner import ROOT, add_options, chosen, drop_in_folder, output_of, progress, revision, say, say_failure
from source import libgomp_sources, source_error
from verdict import expectations, failures

CACHE = ROOT / "build" / "conformance" / "gomp"
RESULTS = CACHE / "results.json"
EXPECTED = Path(__file__).with_name("expected.json")
SECONDS = 60


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, SECONDS)
    parser.add_argument("--on", choices=("stock", "comity", "both"), default="both", help="libraries to run on (default: both)")
    parser.add_argument("--torture", action="store_true", help="Fortran at all six of gfortran's levels, not at -O0 and -O2")
    parser.add_argument("--drop-in", type=Path, metavar="FILE", default=drop_in_folder() / "libgomp.so.1")
    return parser.parse_args()


class session:
    """Does one test after the other, from several threads; keeps no state but what it was made with."""

    def __init__(self, options: argparse.Namespace, sources: Path, last: dict):
        self.options_, self.sources_, self.last_ = options, sources, last
        self.compiler_ = output_of("gcc-12", "--version").splitlines()[0]

    def run(self, case) -> dict:
        result = {"language": case.language, "kind": case.kind}
        if case.unsupported:
            return {**result, "unsupported": case.unsupported}
        made = build(case, self.sources_, CACHE, self.compiler_)
        if case.kind != "run":
            good = (made.path is None) == case.compile_error or case.may_fail
            return {**result, "compile": "pass" if good else f"the compiler's verdict is not the expected one: {made.log[-300:]}"}
        if made.path is None:
            return {**result, "skip": f"does not build: {made.log[-300:]}"}
        result.update(needs=made.needs, key=made.key, stock=self._stock(case, made))
        if self.options_.on != "stock":
            result["comity"] = self._comity(case, made)
        return result

    def _stock(self, case, made) -> dict:
        known = self.last_.get(case.name, {})
        if known.get("key") == made.key and known.get("stock") and not self.options_.fresh:
            return known["stock"]
        return execute(case, made.path, None, self.options_.timeout).record()

    def _comity(self, case, made) -> dict:
        for _ in range(self.options_.repeat):
            done = execute(case, made.path, self.options_.drop_in, self.options_.timeout).record()
            if done["status"] != "pass":
                break
        return done


def run_all(tests: list, one: session, options: argparse.Namespace) -> dict:
    results, bad = {}, 0
    library = "stock" if options.on == "stock" else "comity"
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(one.run, case): case for case in tests}
        for number, job in enumerate(as_completed(jobs), 1):
            case, result = jobs[job], job.result()
            results[case.name] = result
            run = result.get(library)
            if run and run["status"] != "pass":
                bad += 1
                say_failure(case.name, run, result["stock"], options.verbose)
            elif result.get("skip"):
                say(f"skip     {case.name}  {result['skip']}")
            progress(number, len(tests), case.name, bad)
    say(f"gomp: {len(tests)} tests, {bad} not passed on {library}")
    return results


def setting(options: argparse.Namespace, sources: Path) -> dict:
    return {"date": time.strftime("%Y-%m-%d"), "Comity": revision(),
            "tests": (sources / "version").read_text().strip(), "compiler": output_of("gcc-12", "--version").splitlines()[0],
            "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores",
            "Fortran levels": ", ".join(suite.TORTURE if options.torture else suite.USUAL),
            "libraries": {"both": "stock and Comity", "stock": "stock only", "comity": "stock and Comity"}[options.on]}


def conclude(results: dict, tests: list) -> int:
    known = expectations.read(EXPECTED)
    unexplained = [one for one in failures(results, known) if not one["explained"]]
    for one in unexplained:
        say(f"unexplained: {one['test']}: {one['why']}")
    for pattern in known.stale(results):
        say(f"expected.json names {pattern}, which passes")
    say(f"gomp: {len(failures(results, known))} failures on Comity, {len(unexplained)} unexplained")
    return 1 if unexplained else 0


def main() -> int:
    options = arguments()
    try:
        sources = libgomp_sources(CACHE)
    except source_error as error:
        print(f"gomp: {error}", file=sys.stderr)
        return 2
    last = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    everything = suite.all_tests(sources / "libgomp" / "testsuite", suite.TORTURE if options.torture else suite.USUAL)
    tests = chosen(everything, options, last)
    if options.list:
        print("\n".join(f"{case.name}  {case.kind}{'  unsupported: ' + case.unsupported if case.unsupported else ''}" for case in tests))
        return 0
    options.drop_in = options.drop_in.resolve()
    if options.on != "stock" and not options.drop_in.exists():
        print(f"gomp: {options.drop_in} is not there; make build, or --drop-in FILE, or --on stock", file=sys.stderr)
        return 2
    if not tests:
        print("gomp: no test is chosen", file=sys.stderr)
        return 2
    results = run_all(tests, session(options, sources, last), options)
    RESULTS.write_text(json.dumps({**last, **results}))
    if len(tests) == len(everything) and options.on != "stock":
        report.write(results, expectations.read(EXPECTED), setting(options, sources), ROOT / "docs" / "results")
    return conclude(results, tests) if options.on != "stock" else 0


if __name__ == "__main__":
    sys.exit(main())
