"""The conditions of a measurement: without them a number means nothing."""
from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path
from typing import Dict, List, Optional, Sequence


def first_line(command: Sequence[str], folder: Optional[Path] = None) -> str:
    try:
        done = subprocess.run(list(command), capture_output=True, text=True, cwd=folder, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout.strip() else ""


def processor_name(cpuinfo: str) -> str:
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def distribution(os_release: str) -> str:
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', os_release, re.MULTILINE)
    return found.group(1) if found else platform.system()


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def computer() -> str:
    """The processor, and how many cores this process may use."""
    cpuinfo = _text("/proc/cpuinfo")
    virtual = " (virtual machine)" if re.search(r"\bhypervisor\b", cpuinfo) else ""
    return f"{processor_name(cpuinfo)}{virtual}, {len(os.sched_getaffinity(0))} cores"


def processors(count: int) -> str:
    """`count` of those that this process may use, as taskset takes them: one of each core first, then the cores' further hardware threads."""
    places: Dict[str, int] = {}
    turns = []
    for processor in sorted(os.sched_getaffinity(0)):
        siblings = _text(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list").strip() or str(processor)
        places[siblings] = places.get(siblings, -1) + 1
        turns.append((places[siblings], processor))
    return ",".join(str(processor) for _, processor in sorted(turns)[:count])


def system() -> str:
    return f"{distribution(_text('/etc/os-release'))}, Linux {platform.release()}"


def commit(repository: Path) -> str:
    changed = first_line(["git", "status", "--porcelain", "--untracked-files=no"], repository)
    return first_line(["git", "rev-parse", "--short", "HEAD"], repository) + (" with changes" if changed else "")


def load_average() -> str:
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def conditions(repository: Path, libomp: Sequence[str], loop_rate: float, repeats: int) -> Dict[str, str]:
    return {
        "machine": computer(),
        "system": system(),
        "compilers": ", ".join(filter(None, (first_line(["g++", "--version"]), first_line(["clang++-14", "--version"])))),
        "libgomp": first_line(["dpkg-query", "-W", "-f", "${Version}", "libgomp1"]),
        "libomp": ", ".join(libomp),
        "commit": commit(repository),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load average at the start": load_average(),
        "work loop": f"{loop_rate:.4f} iterations a cycle" if loop_rate else "not calibrated",
        "repeats": str(repeats),
    }


def describe_transfers(samples_ns: Sequence[float]) -> str:
    """One sample before each row, since on a virtual machine it changes from row to row."""
    if not samples_ns:
        return ""
    return f"{statistics.median(samples_ns):.0f} ns ({min(samples_ns):.0f} to {max(samples_ns):.0f} before the rows)"


def as_lines(given: Dict[str, str]) -> List[str]:
    return [f"{name}: {value}" for name, value in given.items() if value]
