"""Compiles and runs a test as its RUN lines say, on one library or the other, and judges it."""
from __future__ import annotations

import re
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from runner import environment_without, start, wait
from suite import script, test_case

# Settings of the user's shell that would change what the tests see.
SETTINGS = ("OMP_", "KMP_", "COMITY_", "LD_", "OMPT_")
# What Comity prints before it aborts in a function that it does not have: `comity: SYMBOL: text`.
LOUD = re.compile(r"^comity: ((?:__kmp|___kmp|kmp|GOMP|omp)\w+): ", re.MULTILINE)
OUTPUT_KEPT = 2000


@dataclass
class outcome:
    """status is pass, fail or timeout; why says how it failed."""
    status: str
    why: str = ""
    seconds: float = 0.0
    output: str = ""

    def record(self) -> dict:
        return asdict(self)


def environment(library: Path) -> dict[str, str]:
    """Where the program, which names libomp.so.5, finds it."""
    return {**environment_without(SETTINGS), "LC_ALL": "C", "LD_LIBRARY_PATH": str(library)}


def _answers(program: Path, library: Path) -> str:
    """Which file the program's libomp.so.5 is, as the dynamic linker finds it; nothing if it has none."""
    if not program.exists():
        return ""
    listed = subprocess.run(["ldd", str(program)], env=environment(library), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = re.search(r"libomp\.so\.5 => (\S+)", listed.stdout)
    return found[1] if found else ""


def execute(case: test_case, library: Path, folder: Path, seconds: float) -> outcome:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begin = time.monotonic()
    with (folder / "log").open("w+b") as log:
        process = start(["bash", "-c", script(case, folder)], environment(library), folder, log)
        status = wait(process, seconds)
        took = round(time.monotonic() - begin, 2)
        log.seek(0)
        output = log.read().decode(errors="replace")[-OUTPUT_KEPT:]
    if status is None:
        return outcome("timeout", "still running when time was up", took, output)
    if (status != 0) != case.should_fail:
        return outcome("fail", f"exit status {status}" if status else "passed, and should have failed", took, output)
    answered = _answers(folder / "test", library)
    if answered and Path(answered).parent.resolve() != library.resolve():
        return outcome("fail", f"answered by {answered}", took, output)
    return outcome("pass", "", took, output if case.should_fail else "")
