"""Instructions per region, which do not depend on the neighbours. Where perf may not count (most virtual machines), there are none."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import Mapping, Optional, Sequence

from .process import clean_environment

EVENT = "instructions:u"


def parse_perf(text: str) -> Optional[int]:
    """The count in the output of `perf stat -x, -e instructions:u`; None when it was not counted."""
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("instructions") and fields[0].isdigit():
            return int(fields[0])
    return None


def count(command: Sequence[str], environment: Mapping[str, str], timeout: float) -> Optional[int]:
    perf = shutil.which("perf")
    if perf is None:
        return None
    with tempfile.NamedTemporaryFile("r", suffix=".perf") as report:
        # env: perf itself is not to run under the preloaded runtime.
        assignments = [f"{name}={value}" for name, value in environment.items()]
        full = [perf, "stat", "-x,", "-e", EVENT, "-o", report.name, "--", "env", *assignments, *command]
        try:
            done = subprocess.run(full, env=clean_environment(os.environ, {}), stdin=subprocess.DEVNULL, timeout=timeout,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return parse_perf(report.read()) if done.returncode == 0 else None


def available() -> bool:
    return count(["true"], {}, 10) is not None


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
