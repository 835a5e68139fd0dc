"""Runs one benchmark process and reads the JSON line that it prints."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from typing import Mapping, Optional, Sequence

from . import quiet
from .model import Run

# Settings of the user's shell that would tune one contender and not the other.
TUNING = ("OMP_", "GOMP_", "KMP_", "LIBOMP_", "COMITY_", "LD_PRELOAD", "LD_LIBRARY_PATH", "OPENBLAS_", "MALLOC_", "GLIBC_TUNABLES")


def clean_environment(base: Mapping[str, str], additions: Mapping[str, str]) -> dict:
    kept = {name: value for name, value in base.items() if not name.startswith(TUNING)}
    kept.update(additions)
    return kept


def last_json_line(output: str) -> Optional[dict]:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                return None
    return None


def describe_status(status: int) -> str:
    if status < 0:
        try:
            return f"killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"killed by signal {-status}"
    return f"exit status {status}"


def wrong_runtime(record: dict, expected: Optional[str]) -> Optional[str]:
    """A run that another runtime answered proves nothing; says which it was."""
    if expected is None or "runtime" not in record:
        return None
    answered = os.path.realpath(record["runtime"])
    return None if answered == os.path.realpath(expected) else f"answered by {answered}, not by {expected}"


def run_program(command: Sequence[str], environment: Mapping[str, str], timeout: float, runtime: Optional[str] = None,
                base: Optional[Mapping[str, str]] = None) -> Run:
    """Wall and processor time of the process are added to its record as wall_ms and cpu_ms; a program that prints no JSON
    (/bin/true) has these alone."""
    full = clean_environment(os.environ if base is None else base, environment)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin, busy = time.monotonic(), quiet.busy_seconds()
        try:
            child = subprocess.Popen(list(command), env=full, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                     start_new_session=True)
        except OSError as error:
            return Run(failure=f"{command[0]}: {error.strerror}")
        usage = _wait(child.pid, begin + timeout)
        wall, busy = time.monotonic() - begin, quiet.busy_seconds() - busy
        child.returncode = 0  # reaped by _wait; tells Popen not to wait again
        if usage is None:
            return Run(failure=f"no end within {timeout:g} s")
        status, resources = usage
        output.seek(0)
        errors.seek(0)
        text = output.read().decode(errors="replace")
        complaint = errors.read().decode(errors="replace").strip()
    if status != 0:
        last = complaint.splitlines()[-1] if complaint else ""
        return Run(failure=describe_status(status) + (f": {last[:200]}" if last else ""))
    record = last_json_line(text) or {}
    record["wall_ms"] = 1e3 * wall
    own = resources.ru_utime + resources.ru_stime
    record["cpu_ms"] = 1e3 * own
    return Run(record=record, failure=wrong_runtime(record, runtime), others=quiet.taken_by_others(busy, own, wall))


def _wait(pid: int, deadline: float):
    """(exit status, resource usage), or None when the process had to be killed. A blocking wait with an alarm thread would not
    be more exact than this: wait4 blocks, and a timer kills."""
    killed = []

    def kill():
        killed.append(True)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), kill)
    timer.start()
    try:
        _, status, usage = os.wait4(pid, 0)
    except BaseException:
        kill()
        os.wait4(pid, 0)
        raise
    finally:
        timer.cancel()
    return None if killed else (os.waitstatus_to_exitcode(status), usage)
