"""The suite of user-level threads: its rows, who runs them, what they must reach.

The bars are those of the project's promise, as ratios to a peer in the same run; where the promise is a figure that was measured on
another machine, the ratio is that figure's to the peer's there, and the figure itself is a goal.
"""
from __future__ import annotations

from typing import List, Sequence

from .libraries import SUBJECTS, YIELDING_SUBJECTS
from .model import Bar, Case, Suite

FORKJOIN = "Creation and join of an empty thread (cycles, one worker)"
POINTS = "Further points of figures 3.10, 3.18, 3.26 and 3.28 to 3.33 (cycles, one worker)"
SWITCH = "Switching (cycles, one worker)"
TREES = "Recursion, each call spawned (seconds)"
SYNC = "Synchronisation, two workers (nanoseconds)"
MEMORY = "Waiting threads (resident bytes a thread)"

THREADS = ("pthread", "boost_fiber", "argobots", "argobots-deques", "massivethreads", "massivethreads-parent-first", "qthreads")
TASKS = ("call", "tbb", "libgomp", "libomp", "rayon", "libfork", "go", "argobots-tasklet")
D_OF_FIGURES = (0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
N_OF_FIGURES = tuple(4**power for power in range(9))
ARGOBOTS = "argobot*s"  # of its threads with queues and with deques the better one: each is slow in one order
LARGEST = {"pthread": 256, "boost_fiber": 16384}


def goal(limit: float, who: str = "comity") -> Bar:
    return Bar("at_most", limit, who=who, source="anchor")


def ratio(limit: float, peer: str, who: str = "comity", case: str = "") -> Bar:
    return Bar("ratio_at_most", limit, peer, who, case=case or None)


def speedup(case: str, who: str = "comity") -> Bar:
    return Bar("times_faster", 1.9, who, who, case=case)


def point_name(n: int, d: int, order: str) -> str:
    return f"forkjoin-n{n}-d{d}-{order}"


def _point_contenders(n: int, d: int, order: str) -> List[str]:
    """Who can run a point: tasks neither yield nor are joined in an order; Go's threads are joined as a group."""
    names = [*(SUBJECTS if d == 0 else YIELDING_SUBJECTS), *THREADS]
    if order == "forward":
        names += TASKS if d == 0 else ["go"]
    elif d == 0:
        names += ["call", "argobots-tasklet"]
    return [name for name in names if n <= LARGEST.get(name, n)]


def _point_bars(n: int, d: int, order: str) -> List[Bar]:
    """Figures of the promise over those of the peers, where both were measured."""
    bars: List[Bar] = []
    if d == 0 and n in (256, 4096):
        argobots = {("reverse", 256): 72, ("reverse", 4096): 86, ("forward", 256): 111, ("forward", 4096): 124}[order, n]
        bars += [goal(50), ratio(50 / argobots, ARGOBOTS), ratio(1.15, "comity", case=point_name(n, d, _other(order)))]
        bars += [goal(35, "comity-sc"), ratio(35 / argobots, ARGOBOTS, "comity-sc"), goal(25, "comity-stackless"),
                 goal(60, "comity-c_roc_e"), ratio(60 / 127, "massivethreads", "comity-c_roc_e")]
        if order == "forward":
            bars += [ratio(50 / 64, "tbb"), ratio(35 / 64, "tbb", "comity-sc"), ratio(25 / 64, "tbb", "comity-stackless"),
                     ratio(25 / 36, "libfork", "comity-stackless"), ratio(25 / 57, "argobots-tasklet", "comity-stackless")]
    if d == 100 and n == 256:
        bars += [goal(100, "comity-full"), ratio(100 / 138, ARGOBOTS, "comity-full"),
                 ratio(100 / 248, "massivethreads-parent-first", "comity-full")]
        if order == "forward":
            bars.append(ratio(100 / 551, "go", "comity-full"))
    if n == 4096 and order == "forward":  # not stackless: it is no choice for a thread that may wait
        best = {0: ["comity", "comity-sc"], 10: ["comity*"], 50: ["comity*"], 100: ["comity*"]}
        bars += [ratio(1.10, peer, "comity-automatic") for peer in best.get(d, [])]
    return bars


def _other(order: str) -> str:
    return "reverse" if order == "forward" else "forward"


SHOWN = [(256, 0, "forward"), (256, 0, "reverse"), (4096, 0, "forward"), (4096, 0, "reverse"), (256, 10, "forward"),
         (256, 50, "forward"), (256, 100, "forward"), (256, 100, "reverse"), (4096, 10, "forward"), (4096, 50, "forward"),
         (4096, 100, "forward"), (4096, 100, "reverse")]


def _point(n: int, d: int, order: str) -> Case:
    joined = "" if order == "forward" else ", joined in reverse"
    shown = (n, d, order) in SHOWN
    return Case(point_name(n, d, order), f"N = {n}, D = {d} %{joined}", FORKJOIN if shown else POINTS, "forkjoin", [], _point_contenders(n, d, order),
                f"n{n}-d{d}-{order}", "cycles", _point_bars(n, d, order), sampled=False, together="forkjoin", fixed_variant=True,
                shown=shown, simulated=n == 256 and d in (0, 100), quick=["--point-ms", "3"], regions=250_000,
                counted=["--n", str(n), "--d", str(d), "--reverse", "0" if order == "forward" else "1"])


def forkjoin_points() -> List[Case]:
    points = {(n, d, order) for order in ("forward", "reverse")
              for n, d in [*((4096, d) for d in D_OF_FIGURES), *((n, d) for n in N_OF_FIGURES for d in (0, 100)), (256, 10), (256, 50)]}
    hidden = sorted(points - set(SHOWN))
    return [_point(*point) for point in [*SHOWN, *hidden]]


def _tree(program: str, title: str, workers: int, bars: Sequence[Bar], without: Sequence[str] = (), name: str = "",
          arguments: Sequence[str] = ()) -> Case:
    names = ["comity", "comity-pair", "tbb", "libgomp", "libomp", "rayon", "go", "argobots-deques", "massivethreads", "qthreads",
             "libfork"]  # not Argobots with queues: it goes breadth first
    if workers == 1:
        names.append("serial")
    contenders = [name for name in names if name not in without]
    return Case(f"{name or program}-{workers}", f"{title}, {workers} worker{'s' if workers > 1 else ''}", TREES, program,
                ["--workers", str(workers), *arguments], contenders, "seconds", "s", list(bars), ["seconds_low"], repeats=0.6, sampled=False,
                once=["go", "qthreads", "libgomp", "libomp"], quick=["--samples", "1"], regions=1)


TREE_CASES = [
    # Goroutines and Qthreads take twenty seconds for fib(35), so there is a smaller one.
    _tree("fib", "fib(27)", 1, [], name="fib27", arguments=["--n", "27"]),
    _tree("fib", "fib(27)", 2, [], name="fib27", arguments=["--n", "27"]),
    _tree("fib", "fib(35)", 1, [goal(0.45), goal(0.15, "comity-pair"), ratio(0.95, "libfork"), ratio(0.45 / 1.08, "tbb"),
                                ratio(1, "rayon", "comity-pair")], ["go", "qthreads"]),
    _tree("fib", "fib(35)", 2, [goal(0.23), goal(0.075, "comity-pair"), ratio(0.95, "libfork"), ratio(0.23 / 0.675, "tbb"),
                                ratio(1, "rayon", "comity-pair"), speedup("fib-1"), speedup("fib-1", "comity-pair")],
          ["go", "qthreads"]),
    _tree("nqueens", "13 queens", 1, [], ["qthreads"]),
    _tree("nqueens", "13 queens", 2, [speedup("nqueens-1")], ["qthreads"]),
    _tree("uts", "UTS T1", 1, [goal(0.61), ratio(1, "libfork"), ratio(0.61 / 0.738, "tbb"), ratio(0.61 / 0.718, "libgomp")], ["qthreads"]),
    _tree("uts", "UTS T1", 2, [goal(0.305), ratio(1, "libfork"), ratio(0.305 / 0.375, "tbb"), speedup("uts-1")], ["qthreads"]),
    _tree("matmul", "matrices of 512", 1, []),
    _tree("matmul", "matrices of 512", 2, [speedup("matmul-1")]),
]

SYNC_PEERS = ["comity", "pthread", "boost_fiber", "go", "argobots", "massivethreads"]


def _barrier(threads: int, limit: float, go: float, argobots: float, massive: float) -> Case:
    bars = [goal(limit), ratio(limit / go, "go"), ratio(limit / argobots, "argobots"), ratio(limit / massive, "massivethreads"),
            ratio(1, "*")]
    return Case(f"barrier-{threads}", f"barrier of {threads}", SYNC, "barrier",
                ["--threads", str(threads)], SYNC_PEERS, "ns", "ns",
                bars, ["context_switches"], sampled=False, quick=["--budget-s", "0.1"])


OTHER_CASES = [
    Case("yield", "yield between two threads", SWITCH, "yield", [],
         [*YIELDING_SUBJECTS, "pthread", "boost_fiber", "argobots", "massivethreads", "qthreads", "go"], "cycles", "cycles",
         [goal(25), ratio(25 / 41, "massivethreads"), ratio(25 / 60, "argobots"), ratio(25 / 147, "boost_fiber"), ratio(25 / 147, "go")],
         ["missed"], sampled=False, regions=500_000, quick=["--budget-s", "0.05"]),
    Case("yield-to", "yield to a thread by name", SWITCH, "yield", ["--direct", "1"], YIELDING_SUBJECTS, "cycles", "cycles",
         [], ["missed"], sampled=False, regions=500_000, simulated=True, quick=["--budget-s", "0.05"]),
    Case("yield-tls", "yield between two threads with TLS of their own", SWITCH, "yield", ["--own-tls", "1"], ["comity-full"], "cycles",
         "cycles", [goal(60, "comity-full")], ["missed"], sampled=False, regions=500_000, quick=["--budget-s", "0.05"]),
    Case("switch", "direct switch between two stacks", SWITCH, "switch", [], ["comity", "boost_context"], "cycles", "cycles",
         [goal(14), ratio(1, "boost_context")], sampled=False, regions=500_000, quick=["--budget-s", "0.05"]),
    Case("mutex-16", "mutex, 16 threads, an operation", SYNC, "mutex", ["--threads", "16"], [*SYNC_PEERS, "qthreads"], "ns", "ns",
         [goal(15), ratio(15 / 17, "pthread"), ratio(15 / 13, "go")], ["context_switches"], sampled=False, quick=["--budget-s", "0.1"]),
    _barrier(2, 90, 200, 213, 97),
    _barrier(16, 1000, 2101, 1349, 1778),
    _barrier(64, 4000, 8654, 5241, 6811),
    Case("pingpong-condition", "ping-pong by condition (Go: channel), a hand-over", SYNC, "pingpong", [], SYNC_PEERS, "ns", "ns",
         [goal(200), ratio(200 / 235, "go"), ratio(200 / 516, "argobots")], ["context_switches"], sampled=False,
         quick=["--budget-s", "0.1"]),
    Case("pingpong-semaphore", "ping-pong by semaphore, a hand-over", SYNC, "pingpong", ["--semaphore", "1"],
         ["comity", "pthread", "qthreads"],
         "ns", "ns", [goal(200)], ["context_switches"], sampled=False, quick=["--budget-s", "0.1"]),
    Case("wake", "waking a hart that sleeps (pthread: a bare futex)", SYNC, "wake", [], ["comity", "pthread"], "ns", "ns",
         [ratio(1.15, "pthread")], ["least_ns"], sampled=False, quick=["--wakes", "20"]),
    Case("parked-100000", "100,000 parked", MEMORY, "parked", ["--threads", "100000"],
         ["comity", "boost_fiber", "go", "argobots", "massivethreads", "qthreads"], "bytes", "bytes",
         [goal(2700), ratio(2700 / 2762, "go"), ratio(2700 / 4486, "argobots"), ratio(2700 / 8192, "massivethreads")],
         ["seconds_to_park", "seconds_to_leave"], sampled=False, rounds=1, together="parked"),
    Case("created-100000", "100,000 created, not run yet", MEMORY, "parked", ["--threads", "100000"],
         ["comity", "boost_fiber", "argobots", "qthreads"], "bytes_created", "bytes", [goal(128), ratio(128 / 134, "argobots")],
         sampled=False, rounds=1, together="parked"),
    Case("parked-1000000", "1,000,000 parked", MEMORY, "parked", ["--threads", "1000000"], ["comity", "go"], "bytes", "bytes",
         [goal(2700)], ["seconds_to_park", "seconds_to_leave"], sampled=False, rounds=1, timeout=300),
    Case("guarded-1000000", "1,000,000 parked, each with a guard", MEMORY, "parked", ["--threads", "1000000", "--stack", "16384"],
         ["comity"], "bytes", "bytes", [Bar("at_most", 4500)], ["seconds_to_park", "seconds_to_leave"], sampled=False, rounds=1, timeout=300),
]

EXPLANATION = (
    "Every contender runs the same workload in its own terms: `bench/WORKLOAD/LIBRARY`. Cycles are those of the time stamp counter, as in "
    "the thesis. D is the share of the threads that yield once; a library whose tasks cannot, or are joined only as a group, has no "
    "figure there. *Comity* alone is its default, RoC-L. libgomp runs a task at once when the team is one thread. A *bar* is "
    "a ratio to a peer in the same run; a *goal* is a figure from another machine, or what a peer reached there."
)

THREADS_SUITE = Suite("threads", "User-level threads", [*forkjoin_points(), *OTHER_CASES[:4], *TREE_CASES, *OTHER_CASES[4:]], "comity",
                      explanation=EXPLANATION, contenders_as_rows=True)
