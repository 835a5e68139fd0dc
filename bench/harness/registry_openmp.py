"""OpenMP programs beyond nests and tasks: what each construct costs, the NAS kernels, and FFTW's plans in one level and two."""
from __future__ import annotations

from typing import List, Sequence

from .model import Bar, Case, Suite

PEERS = "lib*"  # the better of the two
BOTH_COMPILERS = ["libgomp", "libomp", "comity", "clang-libomp", "comity-clang"]

# ---- Constructs

CONSTRUCTS = {"parallel": "parallel", "parallel-for": "parallel for", "reduction": "parallel with a reduction", "for": "for, static",
              "for-dynamic": "for, dynamic", "sections": "sections, two", "barrier": "barrier", "single": "single",
              "critical": "critical", "lock": "lock and unlock", "ordered": "ordered", "atomic": "atomic"}


BOUND = ("parallel", "for", "barrier")  # measured with threads bound to places, too


def _construct(word: str, title: str, workers: int, bound: bool = False) -> Case:
    # No runtime is called for an atomic addition: there is nothing to win, and what differs is chance.
    limit = 1.05 if word == "atomic" else 1
    name, title = f"omp-{word}-of-{workers}", f"{title}, {workers} threads"
    if bound:
        name, title = f"{name}-bound", f"{title}, bound"
    return Case(name, title, "What a construct costs beyond its work (nanoseconds)",
                "ompsync/overhead", ["--construct", word, "--workers", str(workers), "--budget-s", "0.3"],
                ["libgomp", "libomp", "comity", "comity-clang"], "ns", "ns", [Bar("ratio_at_most", limit, PEERS)], sampled=False,
                quick=["--samples", "3"], timeout=30, environment={"OMP_PROC_BIND": "close"} if bound else {})


OMPSYNC_SUITE = Suite(
    "ompsync", "OpenMP constructs",
    [_construct(word, title, workers, bound) for workers in (2, 8) for word, title in CONSTRUCTS.items() for bound in (False, True)
     if not bound or word in BOUND],
    explanation="As in the EPCC suite: the time of 800 constructs with a delay of some 50 ns in each, less that of the delays. What is met by the "
    "whole team is counted once, critical, lock, atomic and ordered once for each time that a thread passes. Rows *bound* "
    "have `OMP_PROC_BIND=close`. With *libomp* the better of both compilers' binaries; clang's on Comity has a column of its own. The bar: no more "
    "than the better of the two others. "
    "Tasks, taskwait, taskgroup, taskloop and depend are in the section *OpenMP tasks*.")

# ---- NAS kernels

KERNELS = {"cg": "CG", "ft": "FT", "is": "IS", "ep": "EP"}


def _kernel(word: str, title: str, which: str) -> List[Case]:
    rows = []
    for threads in (2, 8):
        name = f"npb-{word}-{which}-{threads}"
        if threads == 2:
            bars = [Bar("ratio_at_most", 1.03, PEERS), Bar("ratio_at_most", 1.03, "clang-lib*", "comity-clang")]
        else:
            bars = [Bar("ratio_at_most", 1, who, who, case=f"npb-{word}-{which}-2") for who in ("comity", "comity-clang")]
        rows.append(Case(name, f"{title}, class {which}, {threads} threads", "NAS kernels (seconds)", f"npb/{word}",
                         ["--class", which, "--threads", "2", "--more-threads", "8", "--budget-s", "1.6"], BOTH_COMPILERS,
                         "seconds" if threads == 2 else "seconds_more", "s", bars if which == "W" else [], sampled=False, quick=["--samples", "1"],
                         quick_too=which == "W", fixed_variant=word == "ep", timeout=60,  # EP: one region, nobody waits
                         together=f"npb-{word}-{which}"))
    return rows


NPB_SUITE = Suite(
    "npb", "NAS kernels", [case for which in "SW" for word, title in KERNELS.items() for case in _kernel(word, title, which)],
    explanation="The kernels are written from the report of the NAS parallel benchmarks and verify with its values; what does not is refused. gcc's binaries "
    "are compared among themselves and clang's among themselves. The bars, for class W: with 2 threads at most 1.03 times the better of the others; "
    "with 8, which share the cores, no longer than with 2. Runs with 2 and 8 threads alternate in one process.")

# ---- FFTW

INNER = (1, 2, 4, 8)


def _plan(name: str, threads: int, title: str, group: str, arguments: Sequence[str], bars: Sequence[Bar]) -> Case:
    """Rows of a group are measured in turns in one process, so that bars may compare them."""
    return Case(name, title, group, "fftw/plans", [*arguments, "--threads", str(max(INNER)), "--budget-s", "3"], BOTH_COMPILERS, f"us_{threads}",
                bars=bars, sampled=False, quick=["--samples", "3", "--sample-ms", "10"], timeout=600, prepared_by="comity", together=group)


def _one_level(case: str, own: float) -> List[Bar]:
    """Within 2 % of what one level reaches, on Comity and on the better of the others; of clang's binary, on Comity."""
    return [Bar("ratio_at_most", own, "comity", case=case), Bar("ratio_at_most", 1.02, PEERS, case=case),
            Bar("ratio_at_most", own, "comity-clang", "comity-clang", case=case)]


def _two_levels(count: int, title: str) -> List[Case]:
    group = f"{count} transforms of 256², two at a time ({title})"
    first = f"fftw-2d-{count}-1"
    return [_plan(f"fftw-2d-{count}-{inner}", inner, f"{count} of 256², {inner} thread{'s' if inner > 1 else ''} in each" + (" (one level)" if inner == 1 else ""), group,
                  ["--dimensions", "2", "--count", str(count)], _one_level(first, 1.02) if inner > 1 else [])
            for inner in INNER]


def _three_dimensions() -> List[Case]:
    group = "One transform of 64³ (figures 5.9 to 5.12)"
    return [_plan(f"fftw-3d-{threads}", threads, f"64³, {threads} thread{'s' if threads > 1 else ''}", group,
                  ["--dimensions", "3"],
                  [] if threads == 1 else [Bar("ratio_at_most", 1.02, PEERS)] if threads == 2 else _one_level("fftw-3d-2", 1.02))
            for threads in INNER]


FFTW_SUITE = Suite(
    "fftw", "FFTW in one level and two", [*_two_levels(16, "figures 5.5 to 5.8"), *_two_levels(3, "fewer atoms: figures 5.5 to 5.8"), *_three_dimensions()],
    explanation="Section 5.2.2 of the thesis with Debian's FFTW: an outer loop of two threads over two-dimensional transforms, and three-dimensional "
    "ones, whose plans have 1 to 8 threads. The plans are made as there: patiently, those of the outer loop in a region, and with two levels at most. "
    "They are the same for all: the fastest of five, since the planner measures, and what it finds differs by a third; under Comity. A plan of more threads is another plan, "
    "and may be a better one. The rows of a table are measured in turns in one process. Each region of FFTW's is as wide as the plan. The bars: two to eight threads inside within 2 % of the best that one level reaches: the "
    "outer loop alone, or two threads alone. With 3 transforms, one level leaves a core idle for a third of the time.")
