"""Runs a module's tests on the C library's threads or on Comity's."""
from __future__ import annotations

import re
import subprocess
import time
import xml.etree.ElementTree as xml
from dataclasses import asdict, dataclass, field
from pathlib import Path

from runner import environment_without, start, wait
from suite import PYTHON, test_module

SETTINGS = ("COMITY_", "LD_", "GLIBC_TUNABLES", "MALLOC_", "PYTHON", "OMP_")
OURS = re.compile(r"comity: pthread_create: threads run on Comity's harts")
OUTPUT_KEPT = 4000


@dataclass
class outcome:
    """status is pass, fail or timeout; tests: each one's pass, fail or skip."""
    status: str
    why: str = ""
    seconds: float = 0.0
    output: str = ""
    tests: dict[str, str] = field(default_factory=dict)

    def record(self) -> dict:
        return asdict(self)


def comity_run(comity: Path) -> list[str]:
    return [str(comity), "run", "--posix", "--"]


def are_comitys(comity: Path) -> bool:
    """The witness: are this interpreter's threads Comity's? Not asked of the tests themselves, some of which want their processes
    to say nothing."""
    command = [str(comity), "run", "--posix", "--verbose", "--", PYTHON, "-c", "import threading; threading.Thread().start()"]
    told = subprocess.run(command, env=environment_without(SETTINGS), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return told.returncode == 0 and bool(OURS.search(told.stderr))


def verdict_of(case: xml.Element) -> str:
    kinds = {child.tag for child in case}
    return "fail" if kinds & {"failure", "error"} else "skip" if "skipped" in kinds else "pass"


def tests_in(document: str) -> dict[str, str]:
    """Of the report that Python's runner writes at its end. A subtest that fails stands for itself, beside its test."""
    found: dict[str, str] = {}
    for case in xml.fromstring(document).iter("testcase"):
        name = case.get("name", "").removeprefix("test.")
        found[name] = "fail" if "fail" in (verdict_of(case), found.get(name)) else verdict_of(case)
    return found


def execute(case: test_module, prefix: list[str], folder: Path, seconds: float) -> outcome:
    folder.mkdir(parents=True, exist_ok=True)
    told, log_name = folder / f"{case.name}.xml", folder / f"{case.name}.log"
    told.unlink(missing_ok=True)
    environment = {**environment_without(SETTINGS), "LC_ALL": "C.UTF-8"}
    begin = time.monotonic()
    with log_name.open("w+b") as log:
        command = [*prefix, PYTHON, "-m", "test", "-v", "--junit-xml", str(told), case.name]
        status = wait(start(command, environment, folder, log), seconds)
        took = round(time.monotonic() - begin, 1)
        log.seek(0)
        output = log.read().decode(errors="replace")
    tests = tests_in(told.read_text()) if told.exists() else {}
    output = output[-OUTPUT_KEPT:]
    if status is None:
        return outcome("timeout", "still running when time was up", took, output, tests)
    if status != 0 or not tests:
        how = f"signal {-status}" if status < 0 else f"exit status {status}" if status else "no report"
        return outcome("fail", how, took, output, tests)
    return outcome("pass", "", took, "", tests)
