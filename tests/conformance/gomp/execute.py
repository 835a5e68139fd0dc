"""Runs a test's program on a run-time library and judges it, with a witness of which library answered."""
from __future__ import annotations

import re
import signal
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from directives import test_case
from runner import environment_without, start, wait

# Settings of the user's shell that would change what the tests see.
SETTINGS = ("OMP_", "GOMP_", "COMITY_", "LD_", "GFORTRAN_")
OUTPUT_KEPT = 1 << 16
# What Comity prints before it aborts in a function that it does not have yet: `comity: SYMBOL: text`.
LOUD = re.compile(r"^comity: ((?:GOMP|GOACC|OMP|omp|acc)_\w+): ", re.MULTILINE)
# The dynamic linker's log (LD_DEBUG=bindings). Programs are linked lazily, so a line stands for a first call.
BINDING = re.compile(r"binding file (.+?) \[\d+\] to (\S*/libgomp\.so\.1\S*) \[\d+\]: normal symbol `(\w+)'")


@dataclass
class outcome:
    """status is pass, fail or timeout; why says how it failed; calls are libgomp's functions that the program called, and
    answered_by the libraries that answered."""
    status: str
    why: str = ""
    seconds: float = 0.0
    output: str = ""
    calls: list[str] = field(default_factory=list)
    answered_by: list[str] = field(default_factory=list)

    def record(self) -> dict:
        return asdict(self)


def _environment(case: test_case, drop_in: Path | None, witness: Path) -> dict[str, str]:
    kept = environment_without(SETTINGS)
    kept.update(case.environment, LC_ALL="C", LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(witness))
    if drop_in is not None:
        kept.update(LD_PRELOAD=str(drop_in))
    return kept


def _bindings(folder: Path) -> tuple[list[str], list[str]]:
    calls, answered_by = set(), set()
    for file in folder.glob("witness.*"):  # one for each process: some tests fork
        with file.open(errors="replace") as lines:
            for line in lines:
                found = BINDING.search(line) if "libgomp" in line else None
                if found and "libgomp.so" not in found[1]:
                    calls.add(found[3])
                    answered_by.add(found[2])
    return sorted(calls), sorted(answered_by)


def _judge(case: test_case, status: int | None, output: str) -> tuple[str, str]:
    if status is None:
        return "timeout", "still running when time was up"
    ended = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    if (status != 0) != case.should_fail:
        return "fail", ended if status else "ended well, and should have failed"
    if LOUD.search(output):
        return "fail", "Comity refused"  # a test that should fail must not pass by that
    if case.outputs and not re.search("".join(case.outputs), output):
        return "fail", "the output is not the expected one"
    return "pass", ""


def execute(case: test_case, program: Path, drop_in: Path | None, seconds: float) -> outcome:
    limit = min(case.timeout or seconds, seconds) if case.timeout else seconds * case.timeout_factor
    with tempfile.TemporaryDirectory(prefix="gomp-") as name, tempfile.TemporaryFile() as log:
        folder = Path(name)
        (folder / "work").mkdir()
        begin = time.monotonic()
        process = start([str(program)], _environment(case, drop_in, folder / "witness"), folder / "work", log)
        status = wait(process, limit)
        took = time.monotonic() - begin
        log.seek(0)
        output = log.read(OUTPUT_KEPT).decode(errors="replace")
        calls, answered_by = _bindings(folder)
    verdict, why = _judge(case, status, output)
    if drop_in is not None and any(Path(library).resolve() != drop_in.resolve() for library in answered_by):
        verdict, why = "fail", f"answered by {', '.join(answered_by)}"
    return outcome(verdict, why, round(took, 3), output[-2000:], calls, answered_by)
