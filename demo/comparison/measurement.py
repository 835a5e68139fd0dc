"""Runs one process and measures it from outside: time, kernel threads, how many of them were runnable, context switches."""
from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from harness import quiet
from harness.process import clean_environment, describe_status

INTERVAL = 0.01  # seconds between two looks at the threads
SHARE = 0.01  # of one core, at the most, for looking
TAIL = 2000  # characters of the error output that are kept


@dataclass
class Sample:
    at: float  # time.monotonic()
    threads: int
    runnable: int


@dataclass
class Run:
    """What one process cost. A failed one has `failure` and nothing else that counts."""
    failure: Optional[str] = None
    seconds: float = 0.0  # the section that the program timed itself
    wall: float = 0.0
    cpu: float = 0.0
    switches: int = 0
    peak_threads: int = 0
    runnable: float = 0.0  # average during the timed section
    others: Optional[float] = None  # cores that other processes took meanwhile
    results: Dict[str, float] = field(default_factory=dict)


class OutputError(ValueError):
    """The program did not print what it promises."""


def parse_output(text: str) -> Tuple[float, Dict[str, float]]:
    """The seconds of the line `TIME s`, and the numbers of the lines `RESULT name value`."""
    seconds, results = None, {}
    for line in text.splitlines():
        words = line.split()
        try:
            if len(words) == 2 and words[0] == "TIME":
                seconds = float(words[1])
            elif len(words) == 3 and words[0] == "RESULT":
                results[words[1]] = float(words[2])
        except ValueError as error:
            raise OutputError(f"printed a line that cannot be read: {line[:80]}") from error
    if seconds is None or not results:
        raise OutputError("printed no TIME or no RESULT line")
    return seconds, results


def state_of(stat: str) -> str:
    """The state letter in /proc/PID/task/TID/stat; the name before it may hold spaces and parentheses."""
    return stat[stat.rindex(")") + 2]


def look(pid: int, proc: str = "/proc") -> Sample:
    """Counts the kernel threads of a process, and those that run or wait for a core."""
    folder = f"{proc}/{pid}/task"
    threads = runnable = 0
    try:
        ids = os.listdir(folder)
    except OSError:
        ids = []
    for thread in ids:
        try:
            with open(f"{folder}/{thread}/stat", "rb", buffering=0) as file:
                runnable += state_of(file.read(512).decode(errors="replace")) == "R"
            threads += 1
        except (OSError, ValueError, IndexError):
            continue  # it ended meanwhile
    return Sample(time.monotonic(), threads, runnable)


def average_runnable(samples: Sequence[Sample], begin: float, end: float) -> float:
    inside = [sample.runnable for sample in samples if begin <= sample.at <= end]
    return sum(inside) / len(inside) if inside else 0.0


def measure(command: Sequence[str], environment: Mapping[str, str], limit: float) -> Run:
    """Runs the command with a clean environment and the given additions; kills it after `limit` seconds."""
    busy, begin = quiet.busy_seconds(), time.monotonic()
    try:
        child = subprocess.Popen(list(command), env=clean_environment(os.environ, environment), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        return Run(failure=f"{command[0]}: {error.strerror}")
    watch = _Watch()

    def stop() -> None:
        watch.too_late = True
        _kill(child.pid)

    alarm = threading.Timer(limit, stop)
    alarm.start()
    try:
        _follow(child, watch)
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        _kill(child.pid)
        child.wait()
        raise
    finally:
        alarm.cancel()
        child.stdout.close()
        child.stderr.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begin
    if watch.too_late:
        return Run(failure=f"no end within {limit:g} s")
    if child.returncode != 0:
        last = watch.errors.strip().splitlines()[-1:] or [""]
        return Run(failure=f"{describe_status(child.returncode)}: {last[0][:200]}".rstrip(": "))
    try:
        seconds, results = parse_output(watch.output)
    except OutputError as error:
        return Run(failure=str(error))
    cpu = usage.ru_utime + usage.ru_stime
    return Run(seconds=seconds, wall=wall, cpu=cpu, switches=usage.ru_nvcsw + usage.ru_nivcsw,
               peak_threads=max((sample.threads for sample in watch.samples), default=1),
               runnable=average_runnable(watch.samples, watch.timed_until - seconds, watch.timed_until),
               others=quiet.taken_by_others(quiet.busy_seconds() - busy, cpu, wall), results=results)


@dataclass
class _Watch:
    samples: List[Sample] = field(default_factory=list)
    output: str = ""
    errors: str = ""
    timed_until: float = 0.0  # when the line TIME arrived
    too_late: bool = False


def _follow(child: subprocess.Popen, seen: _Watch) -> None:
    """Reads what the process writes and samples its threads until it closes its output. It is not reaped here, so that
    its resource usage, which counts threads that ended too, can still be asked for."""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        selector.register(child.stderr, selectors.EVENT_READ)
        following = time.monotonic()
        while selector.get_map():
            for key, _ in selector.select(max(0.0, following - time.monotonic())):
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is child.stderr:
                    seen.errors = (seen.errors + data.decode(errors="replace"))[-TAIL:]
                else:
                    seen.output += data.decode(errors="replace")
                    if not seen.timed_until and "TIME " in seen.output:
                        seen.timed_until = time.monotonic()
            started = time.monotonic()
            if started >= following:
                sample = look(child.pid)
                seen.samples.append(sample)
                following = started + max(INTERVAL, (sample.at - started) / SHARE)


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def command_line(comity: Optional[Path], program: Sequence[str], arguments: Sequence[str]) -> List[str]:
    """Comity stands before the unchanged command; the rest is the same for all."""
    before = [str(comity), "run", "--"] if comity else []
    return [*before, *program, *arguments]
