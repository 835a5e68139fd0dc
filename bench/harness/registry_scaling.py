"""The suites of scaling: the same work by 1, 2, 4 … workers on so many cores, as curves."""
from __future__ import annotations

from typing import List, Sequence

from .model import Case, Suite

CORES = (1, 2, 4, 8, 16, 32, 64)  # rows for more than the machine has are left out
LEAST_CORES = 4  # with fewer there is nothing to see


def point_name(stem: str, cores: int) -> str:
    return f"{stem}-on-{cores}"


def _points(stem: str, title: str, program: str, arguments: Sequence[str], contenders: Sequence[str], metric: str, unit: str,
            quick: Sequence[str] = (), counts: Sequence[str] = ("--workers",), least: int = 1, needs_rate: bool = False) -> List[Case]:
    """A row for each number of cores. `counts`: the options that take that number; none: there are as many workers as cores."""
    return [Case(point_name(stem, cores), f"{cores} core{'s' if cores > 1 else ''}", title, program, [*arguments, *(word for option in counts for word in (option, str(cores)))], contenders,
                 metric, unit, sampled=False, quick=quick, rounds=2, cores=cores, timeout=30, needs_rate=needs_rate)
            for cores in CORES if cores >= least]


# ---- User-level threads

TREE_PEERS = ("comity", "tbb", "rayon", "libfork", "massivethreads", "argobots-deques")
SYNC_PEERS = ("comity", "pthread", "go", "boost_fiber", "argobots", "massivethreads")


def _tree(program: str, title: str, more: Sequence[str] = ()) -> List[Case]:
    return _points(f"scaling-{program}", f"{title}, each call spawned (seconds)", program, ["--budget-s", "0.3"], [*TREE_PEERS, *more], "seconds", "s",
                   quick=["--samples", "2"])


THREADS = {
    "fib": _tree("fib", "fib(35)", ["comity-pair"]),
    "nqueens": _tree("nqueens", "13 queens", ["go"]),
    "uts": _tree("uts", "UTS T1", ["go"]),
    "matmul": _tree("matmul", "matrices of 512", ["go"]),
    "barrier": _points("scaling-barrier", "barrier of as many threads as there are cores (nanoseconds)", "barrier", ["--budget-s", "0.1"], SYNC_PEERS, "ns", "ns",
                       least=2, counts=["--threads", "--workers"], quick=["--episodes", "500"]),
    "mutex": _points("scaling-mutex", "a mutex that 64 threads want, an operation (nanoseconds)", "mutex", ["--threads", "64", "--budget-s", "0.1"], SYNC_PEERS, "ns",
                     "ns", least=2, quick=["--operations", "2000"]),
}

# ---- OpenMP

OPENMP_PEERS = ("libgomp", "libomp", "comity")


def _openmp(stem: str, title: str, program: str, arguments: Sequence[str], metric: str = "seconds", unit: str = "s", **rest) -> List[Case]:
    return _points(f"scaling-{stem}", title, program, arguments, OPENMP_PEERS, metric, unit, **rest)


TASKS = {"nqueens": "12 queens", "uts": "UTS T1", "sort": "sort of 2²⁰ numbers, pieces of 32", "strassen": "Strassen's product of 512², leaves of 4²"}
CONSTRUCTS = {"parallel": "a parallel region", "barrier": "a barrier", "for-dynamic": "a dynamic loop", "reduction": "a region with a reduction"}
KERNELS = {"cg": "A", "ft": "W", "is": "A"}  # the class: some seconds for all widths; EP is one region

OPENMP = {
    **{word: _openmp(f"omp-{word}", f"{title}, in tasks (seconds)", f"omptasks/{word}", ["--budget-s", "0.2"], quick=["--samples", "2"])
       for word, title in TASKS.items()},
    "sparselu": _openmp("omp-sparselu", "sparse LU, 40² blocks of 16², in tasks (seconds)", "omptasks/sparselu", ["--blocks", "40", "--size", "16", "--budget-s", "0.2"],
                        quick=["--samples", "2"]),
    **{word: _openmp(f"omp-{word}", f"{title} (nanoseconds)", "ompsync/overhead", ["--construct", word, "--budget-s", "0.2"], "ns", "ns", least=2,
                     quick=["--samples", "5"]) for word, title in CONSTRUCTS.items()},
    "insufficient": _openmp("omp-insufficient", "a loop of 4 over regions as wide as the machine, 20,000 cycles a thread: figure 4.9a (microseconds)",
                            "nested/insufficient", ["--outer", "4", "--budget-s", "0.2"], "us", "µs", least=2, counts=["--inner"], needs_rate=True,
                            quick=["--samples", "5"]),
    "nested": _openmp("omp-nested", "an empty region in each of 8 threads of one (microseconds)", "nested/nested", ["--outer", "8", "--budget-s", "0.2"], "us", "µs",
                      least=2, counts=["--inner"], quick=["--samples", "5"]),
    **{word: _openmp(f"npb-{word}", f"NAS {word.upper()}, class {which} (seconds)", f"npb/{word}", ["--class", which, "--budget-s", "0.3"], counts=["--threads"],
                              quick=["--samples", "2"]) for word, which in KERNELS.items()},
}

# ---- POSIX threads

POSIX_PEERS = ("glibc", "comity", "comity-deques", "comity-stealing")
PROGRAMS = {"matmul": "matrices of 1024²", "barnes_hut": "Barnes-Hut", "fmm": "fast multipole method", "decision_tree": "decision tree", "fft": "FFT",
            "sparse": "sparse product", "volume": "volume rendering"}
POSIX = {word: _points(f"scaling-posix-{word}", f"{title} (seconds)", f"posix/{word}", [], POSIX_PEERS, "seconds", "s", counts=()) for word, title in PROGRAMS.items()}


def _suite(word: str, title: str, panels: dict, explanation: str) -> Suite:
    return Suite(f"scaling-{word}", title, [case for cases in panels.values() for case in cases],
                 explanation="Each row's processes are bound to so many cores and have so many workers; hardware threads of one core come last. " + explanation,
                 contenders_as_rows=True, least_cores=LEAST_CORES, has_dots=False)


SCALING_SUITES = {suite.name: suite for suite in (
    _suite("threads", "Scaling: user-level threads", THREADS, "Contenders and programs are those of *User-level threads*."),
    _suite("openmp", "Scaling: OpenMP", OPENMP, "gcc's binaries; *best* is the fastest wait policy; libomp is the newest version that is there. Where a process may not use all cores Comity's idle harts do not "
           "know whether others want theirs, and sleep sooner."),
    _suite("posix", "Scaling: POSIX threads", POSIX, "The programs of *POSIX threads on Comity* in their fine-grained form."),
)}
