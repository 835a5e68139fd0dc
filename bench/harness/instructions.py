"""Instructions per region, which do not depend on the neighbours: as perf counts them, or where it may not (most virtual machines), as
callgrind does, which runs programs some fifty times slower."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from typing import List, Mapping, Optional, Sequence

from .process import clean_environment

EVENT = "instructions:u"


def parse_perf(text: str) -> Optional[int]:
    """The count in the output of `perf stat -x, -e instructions:u`; None when it was not counted."""
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("instructions") and fields[0].isdigit():
            return int(fields[0])
    return None


def parse_callgrind(text: str) -> Optional[int]:
    """The count in callgrind's log; None when the program did not come to its end."""
    found = re.search(r"^==\d+== Collected : (\d+)", text, re.MULTILINE)
    return int(found.group(1)) if found else None


class Counter:
    """Counts the instructions of whole runs by one of two tools."""

    def __init__(self, tool: str):
        self.tool = tool
        self.is_slow = tool == "callgrind"

    def count(self, command: Sequence[str], environment: Mapping[str, str], timeout: float) -> Optional[int]:
        with tempfile.NamedTemporaryFile("r", suffix=".count") as report:
            # env: the tool itself is not to run under the preloaded runtime.
            assignments = [f"{name}={value}" for name, value in environment.items()]
            try:
                done = subprocess.run([*self._tool(report.name), "env", *assignments, *command], env=clean_environment(os.environ, {}),
                                      stdin=subprocess.DEVNULL, timeout=timeout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except (OSError, subprocess.TimeoutExpired):
                return None
            return (parse_callgrind if self.is_slow else parse_perf)(report.read()) if done.returncode == 0 else None

    def _tool(self, report: str) -> List[str]:
        if self.is_slow:
            return ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={report}", "--trace-children=yes"]
        return ["perf", "stat", "-x,", "-e", EVENT, "-o", report, "--"]


def find_counter() -> Optional[Counter]:
    for tool, program in (("perf", "perf"), ("callgrind", "valgrind")):
        if shutil.which(program) and Counter(tool).count(["true"], {}, 20) is not None:
            return Counter(tool)
    return None


def regions_for(microseconds: float) -> int:
    """About a twentieth of a second's worth."""
    return max(1, int(0.05e6 / max(microseconds, 1e-3)))


def few_of(regions: int) -> int:
    """How many the run has that only tells what the start costs; 0: next to a region so long the start is nothing."""
    return 0 if regions == 1 else max(1, regions // 16)


def per_region(counts: Sequence[Optional[int]], regions: int) -> Optional[float]:
    """From two runs, of which the second has so many regions more: start-up cancels out."""
    if len(counts) != 2 or counts[0] is None or counts[1] is None or counts[1] <= counts[0]:
        return None
    return (counts[1] - counts[0]) / regions
