"""The suite of OpenMP tasks: programs in which everything that can be a task is one, and what a construct costs."""
from __future__ import annotations

from typing import List, Sequence

from .model import Bar, Case, Suite

PROGRAMS = "Programs of tasks without cut-off (seconds)"
OVERHEADS = "What a construct costs beyond its work (nanoseconds)"
CONTENDERS = ["libgomp", "libomp", "comity", "comity-clang"]
PEERS = "lib*"  # the better of the two


def _program(name: str, title: str, arguments: Sequence[str] = (), program: str = "", fork_join: bool = False) -> List[Case]:
    """The program with one thread, beside its serial form, and with two, beside the others."""
    one = f"omp-{name}-1"
    bars = [Bar("times_faster", 2, PEERS), Bar("ratio_at_most", 1.1, "comity", case=one)]
    if fork_join:
        bars.append(Bar("ratio_at_most", 0.52, "comity", case=one))
    return [_row(name, title, arguments, program or name, workers, bars if workers == 2 else []) for workers in (1, 2)]


def _row(name: str, title: str, arguments: Sequence[str], program: str, workers: int, bars: Sequence[Bar]) -> Case:
    return Case(f"omp-{name}-{workers}", f"{title}, {workers} thread{'s' if workers > 1 else ''}", PROGRAMS, f"omptasks/{program}",
                ["--workers", str(workers), "--budget-s", "0.3", *arguments], ["comity", "comity-clang", "serial"] if workers == 1 else CONTENDERS,
                "seconds", "s",
                list(bars), ["seconds_low"], sampled=False, quick=["--samples", "1"], timeout=60)


def _overhead(construct: str, title: str, workers: int) -> Case:
    return Case(f"omp-{construct}-of-{workers}", f"{title}, {workers} threads", OVERHEADS, "omptasks/overhead",
                ["--construct", construct, "--workers", str(workers), "--budget-s", "0.5"], CONTENDERS, "ns", "ns", [Bar("ratio_at_most", 1, PEERS)],
                sampled=False, quick=["--samples", "5"])


CONSTRUCTS = {"task": "task, made by each thread", "task-by-one": "task, made by one thread for all", "taskwait": "task and taskwait",
              "taskgroup": "taskgroup around a task", "taskloop": "taskloop, an iteration for each thread",
              "depend": "task in a chain of dependences"}

CASES = [
    *_program("fib", "fib(30)", fork_join=True),
    *_program("nqueens", "12 queens"),
    *_program("uts", "UTS T1", fork_join=True),
    *_program("sort", "sort of 2²⁰ numbers, pieces of 32"),
    *_program("strassen", "Strassen's product of 512², leaves of 4²"),
    *_program("sparselu-8", "sparse LU, 64² blocks of 8²", program="sparselu"),
    *_program("sparselu-16", "sparse LU, 40² blocks of 16²", ["--blocks", "40", "--size", "16"], "sparselu"),
    *_program("sparselu-depend", "sparse LU, 40² blocks of 16², by depend", ["--blocks", "40", "--size", "16", "--depend", "1"], "sparselu"),
    *[_overhead(construct, title, workers) for workers in (2, 8) for construct, title in CONSTRUCTS.items()],
]

EXPLANATION = (
    "gcc's binary runs on libgomp, on libomp and on Comity; clang's on libomp and, as *comity, clang's binary*, on Comity. *best* is the fastest "
    "wait policy and, for libomp, version and ABI. *serial* is the same source compiled without OpenMP. The bars: with two threads at least twice "
    "as fast as the better of the two others, and at most 1.1 times as long as with one thread; fork-join programs at most 0.52 times as long; "
    "a construct costs no more than on the better of the two. Blocks of 8² are tasks of some 150 ns, of which one that moves to another core costs more than "
    "it saves."
)

OMPTASKS_SUITE = Suite("omptasks", "OpenMP tasks", CASES, explanation=EXPLANATION)
