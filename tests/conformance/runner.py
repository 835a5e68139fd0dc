"""What the suites' runners share: options, the choice of tests, processes, and what is said meanwhile."""
from __future__ import annotations

import argparse
import fnmatch
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def add_options(parser: argparse.ArgumentParser, seconds: float):
    """The options of every suite; `seconds` is the limit for one test."""
    parser.add_argument("--only", metavar="PATTERN", help="tests whose name holds PATTERN, or matches it if it has * or ?")
    parser.add_argument("--rerun-failed", action="store_true", help="only what did not pass on Comity the last time")
    parser.add_argument("--list", action="store_true", help="print the tests and run nothing")
    parser.add_argument("--fresh", action="store_true", help="run on stock again, even if there is a result")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="on Comity up to N times, until it fails")
    parser.add_argument("--timeout", type=float, default=seconds, help=f"seconds for a test (default: {seconds})")
    parser.add_argument("-j", "--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("-v", "--verbose", action="store_true", help="print the output of what does not pass on Comity")


def drop_in_folder() -> Path:
    return ROOT / "build" / os.environ.get("PRESET", "release") / "lib" / "comity"


def chosen(tests: list, options: argparse.Namespace, last: dict) -> list:
    if options.only:
        pattern = options.only if set("*?") & set(options.only) else f"*{options.only}*"
        tests = [case for case in tests if fnmatch.fnmatchcase(case.name, pattern)]
    if options.rerun_failed:
        tests = [case for case in tests if last.get(case.name, {}).get("comity", {}).get("status", "pass") != "pass"]
    return tests


# ---- Processes

def output_of(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT).stdout.strip()


def revision() -> str:
    """The commit, and whether anything but results differs from it: one suite's must not mark the next one's."""
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/results")
    return output_of("git", "describe", "--always") + ("-dirty" if changed else "")


def environment_without(settings: tuple[str, ...]) -> dict[str, str]:
    """The user's environment without variables that begin so: they would change what the tests see."""
    return {name: value for name, value in os.environ.items() if not name.startswith(settings)}


def start(command: list[str], environment: dict[str, str], folder: Path, output) -> subprocess.Popen:
    """In a process group of its own, and without core dumps: many tests end by a signal. No signal is ignored, as a
    shell lets SIGINT be for what it starts in the background."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
    return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=prepare)


def wait(process: subprocess.Popen, seconds: float) -> int | None:
    """The exit status, or None if time was up. What is left of the process group is killed either way."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


# ---- What is said

def say(text: str):
    print(("\r\033[K" if sys.stdout.isatty() else "") + text, flush=True)


def say_failure(name: str, run: dict, stock: dict, verbose: bool):
    say(f"{run['status']:8} {name}  ({run['why']}, {run['seconds']} s; stock: {stock['status']})")
    if verbose:
        say(run["output"])


def progress(done: int, total: int, name: str, bad: int):
    if sys.stdout.isatty():
        print(f"\r\033[K[{done}/{total}] {bad} bad  {name}", end="", flush=True)
    elif done % 100 == 0 or done == total:
        print(f"[{done}/{total}] {bad} bad", flush=True)
