"""The suite of servers: unmodified ones of Debian's, as they are and under `comity run --posix`, asked by their usual clients."""
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Dict, List, Sequence

from servers.process import SEARCHED

from .model import Bar, Case, Contender, Progress, Suite, Variant

TIMES = "Time a request"
PROCESSOR = "Processor time a request"
PROGRAM = str(Path(__file__).resolve().parent.parent / "servers" / "servers.py")
LEAST_THROUGHPUT, MOST_PROCESSOR_TIME = 0.95, 1.1

# The row, its title, and the programs that it needs.
ROWS = (
    ("mariadb-read", "MariaDB, sysbench's read-only transactions by 8 clients", ("mariadbd", "mariadb-install-db", "sysbench")),
    ("nginx-aio", "nginx, `aio threads`, 32 connections of wrk", ("nginx", "wrk")),
    ("nginx", "nginx, 32 connections of wrk", ("nginx", "wrk")),
    ("apache-keep-alive", "Apache (event), 32 connections of wrk that are kept", ("apache2", "wrk")),
    ("apache", "Apache (event), 32 clients of wrk with a connection a request", ("apache2", "wrk")),
    ("redis-threads-set", "Redis, `--io-threads 2`, SET by 50 clients", ("redis-server", "redis-benchmark")),
    ("redis-threads-get", "Redis, `--io-threads 2`, GET by 50 clients", ("redis-server", "redis-benchmark")),
    ("redis-set", "Redis, SET by 50 clients", ("redis-server", "redis-benchmark")),
    ("pgbench", "pgbench, 8 threads that ask PostgreSQL: the client is measured", ("postgres", "initdb", "pgbench")),
)
NEEDED = {name: programs for name, _, programs in ROWS}


def contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    found = [Contender("glibc", "glibc", [Variant("glibc")])]
    command = build / "bin" / "comity"
    if command.exists():
        found.append(Contender("comity", "Comity", [Variant("posix", arguments=["--under", f"{command} run --posix --"])]))
    return {one.name: one for one in found}


def missing(case: Case) -> List[str]:
    """The programs that the row needs and that are not installed."""
    needed = NEEDED[case.together] if case.program == PROGRAM else ()
    return [program for program in needed if shutil.which(program, path=SEARCHED) is None]


def _row(name: str, title: str) -> List[Case]:
    shared = {"sampled": False, "together": name, "timeout": 180, "quick": ["--seconds", "1"], "contenders": ["glibc", "comity"], "unit": "µs"}
    return [Case(f"server-{name}", title, TIMES, PROGRAM, [name], metric="us", bars=[Bar("ratio_at_most", 1 / LEAST_THROUGHPUT, "glibc")], **shared),
            Case(f"server-{name}-cpu", title, PROCESSOR, PROGRAM, [name], metric="cpu_us", bars=[Bar("ratio_at_most", MOST_PROCESSOR_TIME, "glibc")], **shared)]


def _cases(rows: Sequence[tuple]) -> List[Case]:
    return [case for name, title, _ in rows for case in _row(name, title)]


EXPLANATION = (
    "Each run starts the server in a folder of its own, warms it up, and has its client ask it for two seconds on the "
    "loopback interface. The client shares the cores with the server, and is never under Comity, but in the row in which "
    "it is the program with the threads.\n\n"
    "The time a request is that of all together (a second over the requests in it): 0.95 of the throughput is promised, "
    "and 1.1 times the processor time, which is the server's alone."
)

SERVERS_SUITE = Suite("servers", "Servers", _cases(ROWS), baseline="glibc", explanation=EXPLANATION)
