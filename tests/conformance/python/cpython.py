"""Python's own tests of what has to do with threads, from Debian's package libpython3.11-testsuite, under Debian's Python:
on the C library's threads and on Comity's.

Exits with 0 if every test that passes on stock passes on Comity or is explained in expected.json, and with 1 if not.
A run of everything writes docs/results/conformance-python.md and .json.
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
from execute import are_comitys, comity_run, execute
from runner import ROOT, add_options, chosen, drop_in_folder, output_of, progress, revision, say, say_failure
from suite import PYTHON, all_modules

CACHE = ROOT / "build" / "conformance" / "python"
RESULTS = CACHE / "results.json"
EXPECTED = Path(__file__).with_name("expected.json")
SECONDS = 600  # a module has hundreds of tests, many of which sleep


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, SECONDS)
    parser.add_argument("--comity", type=Path, metavar="FILE", help="the command `comity` to run them with",
                        default=drop_in_folder().parents[1] / "bin" / "comity")
    return parser.parse_args()


def run(case, options: argparse.Namespace, last: dict) -> dict:
    known = last.get(case.name, {}).get("stock")
    stock = known if known and known["status"] == "pass" and not options.fresh else \
        execute(case, [], CACHE / "stock", options.timeout).record()
    for _ in range(options.repeat):
        comity = execute(case, comity_run(options.comity), CACHE / "comity", options.timeout).record()
        if comity["status"] != "pass":
            break
    return {"stock": stock, "comity": comity}


def run_all(modules: list, options: argparse.Namespace, last: dict) -> dict:
    results, bad = {}, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(run, case, options, last): case for case in modules}
        for number, job in enumerate(as_completed(jobs), 1):
            case, result = jobs[job], job.result()
            results[case.name] = result
            RESULTS.write_text(json.dumps({**last, **results}))
            if result["comity"]["status"] != "pass":
                bad += 1
                say_failure(case.name, result["comity"], result["stock"], options.verbose)
            progress(number, len(modules), case.name, bad)
    return results


def setting() -> dict:
    return {"date": time.strftime("%Y-%m-%d"), "Comity": revision(),
            "tests": f"{output_of(PYTHON, '--version')} of Debian, python3 -m test",
            "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.release()}"}


def conclude(results: dict) -> int:
    found = report.failures(results, json.loads(EXPECTED.read_text()))
    unexplained = [one for one in found if not one["explained"]]
    for one in unexplained:
        say(f"unexplained: {one['test']}: {one['status']}")
    say(f"python: {report.counts(results)['run']} tests, {len(found)} failures on Comity that stock does not have, "
        f"{len(unexplained)} unexplained")
    return 1 if unexplained else 0


def main() -> int:
    options = arguments()
    modules = all_modules()
    if not modules:
        print("python: Python's own tests are not there; scripts/install-dependencies conformance", file=sys.stderr)
        return 2
    last = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    picked = chosen(modules, options, last)
    if options.list:
        print("\n".join(case.name for case in picked))
        return 0
    options.comity = options.comity.resolve()
    if not options.comity.exists():
        print(f"python: {options.comity} is not there; make build, or --comity FILE", file=sys.stderr)
        return 2
    if not are_comitys(options.comity):
        print(f"python: under {options.comity} the threads of {PYTHON} are not Comity's", file=sys.stderr)
        return 2
    if not picked:
        print("python: no test is chosen", file=sys.stderr)
        return 2
    results = run_all(picked, options, last)
    if len(results) == len(modules):
        report.write(results, json.loads(EXPECTED.read_text()), setting(), ROOT / "docs" / "results")
    return conclude(results)


if __name__ == "__main__":
    CACHE.mkdir(parents=True, exist_ok=True)
    sys.exit(main())
