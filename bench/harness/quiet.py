"""Other processes on the machine: waits for a quiet moment, and tells how much of a core they took during a run."""
from __future__ import annotations

import os
import time
from typing import Callable, Optional

TICK = os.sysconf("SC_CLK_TCK")
DISTURBED = 0.15  # of one core, taken by others
SHORTEST = 0.1  # seconds: the kernel counts in ticks, so a shorter run cannot be judged


def busy_seconds(stat: Optional[str] = None) -> float:
    """Processor time that all processes and the hypervisor's other guests have taken since the machine started, from /proc/stat."""
    if stat is None:
        with open("/proc/stat") as file:
            stat = file.readline()
    fields = [int(number) for number in stat.split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields + [0] * (8 - len(fields))
    return (user + nice + system + irq + softirq + steal) / TICK


def taken_by_others(busy: float, own: float, wall: float) -> Optional[float]:
    """Cores that others used in a run of `wall` seconds; None when it was too short to tell."""
    return None if wall < SHORTEST else max(0.0, busy - own) / wall


def is_disturbed(others: Optional[float]) -> bool:
    return others is not None and others > DISTURBED


def wait(limit: float, sleep: Callable[[float], None] = time.sleep, busy: Callable[[], float] = busy_seconds) -> bool:
    """Until others take next to nothing for a tenth of a second, or `limit` seconds at most; whether it became quiet."""
    step = 0.1
    waited = 0.0
    before = busy()
    while True:
        sleep(step)
        waited += step
        now = busy()
        if (now - before) / step <= 2 * DISTURBED:
            return True
        if waited >= limit:
            return False
        before = now
