"""Builds, runs and judges a test on the C library's threads or on Comity's."""
from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from runner import environment_without, start, wait

SETTINGS = ("COMITY_", "LD_", "GLIBC_TUNABLES", "MALLOC_", "TIMEOUTFACTOR", "TEST_")
# What Comity says under --verbose when a process creates its first thread of either kind.
OURS = re.compile(r"^comity: pthread_create: threads run on Comity's harts", re.MULTILINE)
KERNELS = re.compile(r"^comity: pthread_create: .* kernel thread", re.MULTILINE)
OUTPUT_KEPT = 2000


class build_error(RuntimeError):
    """The compiler's first words about it."""


def compile_with(command: list[str], folder: Path):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if "error" in line or "undefined" in line]
        raise build_error((lines or done.stdout.splitlines() or ["?"])[0].rpartition("error: ")[2][-160:])


@dataclass
class outcome:
    """status is pass, fail, timeout or unsupported; why says how it failed; threads: whose it created, `comity`, `kernel`, both or none."""
    status: str
    why: str = ""
    seconds: float = 0.0
    threads: str = ""
    output: str = ""

    def record(self) -> dict:
        return asdict(self)


def execute(program: Path, arguments: list[str], prefix: list[str], unsupported: tuple[int, ...], seconds: float) -> outcome:
    """`unsupported`: the exit statuses by which a test says that it does not apply."""
    folder = program.parent
    environment = {**environment_without(SETTINGS), "LC_ALL": "C", "LD_LIBRARY_PATH": str(folder), "TMPDIR": str(folder)}
    begin = time.monotonic()
    log_name = folder / ("comity.log" if prefix else "stock.log")
    with log_name.open("w+b") as log:
        status = wait(start([*prefix, f"./{program.name}", *arguments], environment, folder, log), seconds)
        took = round(time.monotonic() - begin, 2)
        log.seek(0)
        output = log.read().decode(errors="replace")
    threads = "+".join(word for word, pattern in (("comity", OURS), ("kernel", KERNELS)) if pattern.search(output))
    output = output[-OUTPUT_KEPT:]
    if status is None:
        return outcome("timeout", "still running when time was up", took, threads, output)
    if status in unsupported:
        return outcome("unsupported", last_line(output), took, threads, output)
    if status != 0:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return outcome("fail", how, took, threads, output)
    return outcome("pass", "", took, threads)


def last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if not line.startswith("comity: ")]
    if not lines:
        return "says so"
    return re.sub(r"^.*?\S*/(?=conformance/)", "", lines[-1])[:120]  # without the folder of this machine


def comity_run(comity: Path) -> list[str]:
    return [str(comity), "run", "--posix", "--verbose", "--"]


def creates_threads(program: Path) -> bool:
    """Does it name a function that creates one?"""
    text = os.popen(f"nm -D --undefined-only {program}").read()
    return bool(re.search(r" (pthread_create|thrd_create)(@|$)", text, re.MULTILINE))
