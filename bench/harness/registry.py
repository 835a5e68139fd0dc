"""The one place that says what is measured: every suite, its rows, who runs them and what they must reach.

A new benchmark is a program under bench/WORKLOAD/ and a Case here or in one of the registry_* beside. The bars of source "issue" are promises; those of source
"anchor" are goals: what the best other runtime reached, as a ratio to libomp measured in the same run as it.
"""
from __future__ import annotations

import os
from typing import List

from .model import Bar, Case, Suite
from .registry_figures import FIGURES_SUITE
from .registry_omptasks import OMPTASKS_SUITE
from .registry_openmp import FFTW_SUITE, NPB_SUITE, OMPSYNC_SUITE
from .registry_posix import POSIX_SUITE
from .registry_scaling import SCALING_SUITES
from .registry_servers import SERVERS_SUITE
from .registry_threads import THREADS_SUITE

NESTED = "Nested parallel regions"
SHARED = "Foreign threads, idle, start-up"
CORES = len(os.sched_getaffinity(0))


def _faster(libgomp: float = 0, libomp: float = 0, goal: float = 0) -> List[Bar]:
    bars = []
    if libgomp:
        bars.append(Bar("times_faster", libgomp, "libgomp"))
    if libomp:
        bars.append(Bar("times_faster", libomp, "libomp"))
    if goal:
        bars.append(Bar("times_faster", goal, "libomp", source="anchor"))
    return bars


def _flat(threads: int, bars: List[Bar], repeats: float = 1) -> Case:
    return Case(f"flat-{threads}", f"flat region of {threads} threads (4.8a)", NESTED, "nested/flat", ["--threads", str(threads)],
                ["libgomp-default", "libgomp", "libomp", "comity", "comity-preload"], bars=bars, repeats=repeats)


def _nest(outer: int, inner: int, bars: List[Bar]) -> Case:
    return Case(f"nested-{outer}x{inner}", f"nested {outer}×{inner}, empty (4.7)", NESTED, "nested/nested",
                ["--outer", str(outer), "--inner", str(inner)], bars=bars)


def _unbalanced(alpha: int, bars: List[Bar]) -> Case:
    return Case(f"unbalanced-a{alpha}", f"unbalanced 8×8, α = {alpha} (4.9b)", NESTED, "nested/unbalanced",
                ["--threads", "8", "--alpha", str(alpha)], bars=bars, needs_rate=True)


def _recursion(depth: int, bars: List[Bar]) -> Case:
    return Case(f"recursion-{depth}", f"recursion of 4, depth {depth}, empty (4.12)", NESTED, "nested/recursion",
                ["--depth", str(depth)], bars=bars)


NESTED_CASES = [
    _flat(2, [Bar("ratio_at_most", 1.05, "libgomp-default"), Bar("times_faster", 1, "libomp", source="anchor")], repeats=2),
    _flat(8, [Bar("times_faster", 25, "libgomp-default"), *_faster(goal=12.7 / 0.75)]),
    _flat(56, [Bar("times_faster", 25, "libgomp-default"), *_faster(goal=143 / 7)]),
    _nest(2, 2, _faster(goal=8.6 / 0.7)),
    _nest(8, 2, _faster(goal=50 / 3)),
    _nest(56, 2, _faster(goal=696 / 20)),
    _nest(8, 8, _faster(libgomp=150, libomp=15)),
    _nest(8, 56, _faster(goal=2141 / 55)),
    _nest(56, 56, _faster(libgomp=300, libomp=40, goal=30312 / 600)),
    Case("insufficient-8x8", "insufficient outer parallelism 8×8, 20,000 cycles each (4.9a)", NESTED, "nested/insufficient",
         ["--outer", "8", "--inner", "8"], bars=_faster(goal=620 / 195), needs_rate=True),
    _unbalanced(1, _faster(goal=1642 / 500)),
    _unbalanced(10, _faster(goal=713 / 350)),
    _recursion(3, _faster(goal=465 / 18)),
    _recursion(5, _faster(libgomp=250, libomp=40, goal=18068 / 320)),
]

SHARED_CASES = [
    Case("foreign-6x8", "6 std::threads opening regions of 8: runnable kernel threads", SHARED, "foreign/foreign",
         ["--threads", "6", "--width", "8"], ["libgomp", "libomp", "comity", "comity-preload"], "runnable_mean", "threads",
         [Bar("at_most", CORES + 1)], ["us", "kernel_threads", "context_switches"], needs_rate=True, sampled=False,
         fixed_variant=True),
    Case("idle-after", "idle after the last region: processor time of one core", SHARED, "idle/idle", ["--mode", "0"],
         ["libgomp", "libomp", "comity", "comity-preload"], "cpu_percent", "%", [Bar("at_most", 0.1)],
         ["context_switches", "kernel_threads"], repeats=0.6, sampled=False, fixed_variant=True),
    Case("idle-barrier", "idle in a barrier that one thread sleeps before", SHARED, "idle/idle", ["--mode", "1"],
         ["libgomp", "libomp", "comity", "comity-preload"], "cpu_percent", "%", [Bar("at_most", 0.1)],
         ["context_switches", "kernel_threads"], repeats=0.6, sampled=False, fixed_variant=True),
    Case("startup-true", "start-up: /bin/true", SHARED, "/bin/true", [], ["plain", "comity"], "wall_ms", "ms",
         [Bar("added_at_most", 5, "plain")], repeats=8, sampled=False, fixed_variant=True),
    Case("startup-compute", "a program with no parallelism, about one second", SHARED, "startup/compute", [],
         ["plain", "comity"], "wall_ms", "ms", [Bar("ratio_at_most", 1.01, "plain")], ["cpu_ms"], repeats=2, sampled=False,
         fixed_variant=True),
]

NESTED_EXPLANATION = (
    "The binaries are gcc's, unmodified; *best* is the fastest setting of wait policy, hot teams and, for libomp, version and ABI "
    "(listed below), with nesting on. Where no time is measured, the stock runtimes have their default wait policy. A *bar* is a "
    "promise, a *goal* what the best other runtime reaches."
)

SUITES = {
    "nested": Suite("nested", "Nested OpenMP regions against libgomp and libomp", [*NESTED_CASES, *SHARED_CASES],
                    explanation=NESTED_EXPLANATION),
    "threads": THREADS_SUITE,
    "posix": POSIX_SUITE,
    "omptasks": OMPTASKS_SUITE,
    "ompsync": OMPSYNC_SUITE,
    "npb": NPB_SUITE,
    "fftw": FFTW_SUITE,
    "figures": FIGURES_SUITE,
    "servers": SERVERS_SUITE,
    **SCALING_SUITES,
}
