"""The suite of POSIX threads: what an operation costs, and the programs of Narlikar and Blelloch (examples/pthreads) on glibc's
threads and on Comity's in each order."""
from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Mapping, Sequence

from .model import Bar, Case, Contender, Progress, Suite, Variant

OPERATIONS = "What an operation costs (nanoseconds)"
TIMES = "The seven programs: time (figure 8)"
ALIVE = "The seven programs: threads that live at once, at most (figure 7)"
HEAP = "The seven programs: heap, at most (figures 5 and 9)"
GRAIN = "Volume rendering by tiles of a thread (figure 11)"
POINTS = "The points of figures 5, 7 and 9"
TREE = "A tree of 9,331 threads of a mebibyte"

ORDERS = {"comity": "space_efficient", "comity-deques": "df_deques", "comity-fifo": "fifo", "comity-lifo": "lifo", "comity-stealing": "work_stealing"}
EMULATED = 8  # workers, whatever the machine has
ON_8 = ["comity-8", "comity-deques-8", "comity-fifo-8"]


def contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    """glibc's threads; Comity's in each order, and with eight harts; the coarse-grained and the serial form, which are glibc's."""
    found = [Contender("glibc", "glibc", [Variant("glibc")]),
             Contender("coarse", "glibc, coarse", [Variant("coarse", arguments=["--coarse", "2"])]),
             Contender("serial", "serial", [Variant("serial", arguments=["--serial"])])]
    command = build / "bin" / "comity"
    for name, order in ORDERS.items() if command.exists() else ():
        environment = {"COMITY_POSIX_SCHEDULER": order}
        title = "Comity, " + order.replace("_", "-")
        wrapper = [str(command), "run", "--posix", "--"]
        found.append(Contender(name, title, [Variant(order, environment, wrapper)]))
        if f"{name}-8" in ON_8:
            found.append(Contender(f"{name}-8", f"{title}, 8 harts", [Variant(order, {**environment, "COMITY_HARTS": str(EMULATED)}, wrapper)]))
    return {one.name: one for one in found}


def _operation(name: str, title: str, bars: Sequence[Bar]) -> Case:
    return Case(f"posix-{name}", title, OPERATIONS, "posix/operations", [name], ["glibc", *ORDERS], "ns", "ns", list(bars), sampled=False)


def _program(name: str, many: bool, coarse: bool = False, memory: bool = False, once: Sequence[str] = ()) -> List[Case]:
    """Its time, and from the same runs the threads that live and the heap. many: glibc creates over a thousand threads."""
    faster = Bar("times_faster", 1.3, "glibc") if many else Bar("ratio_at_most", 1, "glibc")
    times = [faster, *([Bar("ratio_at_most", 1.05, "coarse")] if coarse else [])]
    few = [Bar("share_at_most", 0.1, "comity-fifo-8", who="comity-8")] if memory else []
    small = [Bar("beside_half_more", 2, "serial", who="comity-8")] if memory else []
    shared = {"sampled": False, "together": name, "once": list(once)}
    threaded = ["glibc", "comity", "comity-deques", "comity-fifo", "comity-lifo", "comity-stealing", *(ON_8 if memory else [])]
    return [Case(f"posix-{name}", name, TIMES, f"posix/{name}", [], ["serial", *(["coarse"] if coarse else []), *threaded], "seconds", "s", times, ["threads"], **shared),
            Case(f"posix-{name}-alive", name, ALIVE, f"posix/{name}", [], threaded, "alive", "threads", few, **shared),
            Case(f"posix-{name}-heap", name, HEAP, f"posix/{name}", [], ["serial", *threaded], "heap_mb", "MB", small, ["rss_mb"], **shared)]


UNCONTENDED = [Bar("ratio_at_most", 1.1, "glibc")]
CONTENDED = [Bar("ratio_at_most", 1, "glibc")]

# The points of figures 5, 7 and 9: a program on so many harts. One record of a process holds all the metrics.
HARTS = (1, 2, 4, 8)
ON_HARTS = ("matmul", "fmm", "decision_tree")
TILES = (4, 10, 60, 130, 500)


def point_name(program: str, metric: str, harts: int) -> str:
    return f"posix-{program}-on-{harts}-{metric}"


def _points(program: str, harts: int) -> List[Case]:
    return [Case(point_name(program, metric, harts), f"{program} on {harts}", POINTS, f"posix/{program}", [], list(ORDERS), metric, unit,
                 sampled=False, shown=False, rounds=2, together=f"{program}-on-{harts}", environment={"COMITY_HARTS": str(harts)})
            for metric, unit in (("seconds", "s"), ("alive", "threads"), ("heap_mb", "MB"))]


CASES = [
    _operation("create", "creation and join", [Bar("at_most", 1500)]),
    _operation("create-many", "creation and join, 64 at a time", [Bar("at_most", 1500)]),
    _operation("lock", "mutex, uncontended", UNCONTENDED),
    _operation("post", "semaphore, post and wait", UNCONTENDED),
    _operation("signal", "condition, signal to nobody", UNCONTENDED),
    _operation("lock-by-many", "mutex, eight threads", CONTENDED),
    _operation("poll", "eight threads that look under a mutex until it is their turn", CONTENDED),
    _operation("hand-over", "condition, a turn from thread to thread", CONTENDED),
    _operation("nap", "a sleep of 200 us, in four threads: processor time", [Bar("ratio_at_most", 1.5, "glibc")]),
    *_program("matmul", True, memory=True),
    *_program("barnes_hut", True, coarse=True, once=["serial", "glibc", *(order for order in ORDERS if order != "comity")]),
    *_program("fmm", True, memory=True),
    *_program("decision_tree", True, memory=True),
    *_program("fft", False, coarse=True),
    *_program("sparse", True, coarse=True),
    *_program("volume", False, coarse=True),
    *[Case(f"posix-tiles-{tiles}", f"{tiles} tiles a thread", GRAIN, "posix/volume", ["--tiles", str(tiles)],
           ["glibc", "comity", "comity-fifo"], "seconds", "s", sampled=False) for tiles in TILES],
    *[case for program in ON_HARTS for harts in HARTS for case in _points(program, harts)],
    Case("posix-tree", "resident at most", TREE, "posix/tree", [], ["glibc", *ORDERS], "rss_mb", "MB", [Bar("at_most", 120)], ["seconds"], sampled=False),
]

EXPLANATION = (
    "The programs are plain C on POSIX threads ([examples/pthreads](../examples/pthreads/README.md)), the same binary for all; *coarse*: one thread for each of two processors; *serial*: calls instead "
    "of threads. *8 harts*: as many on however many cores there are, for the bars of memory. The heap is what the program has allocated, without stacks. Figures 5, 7, 9 and 11 of the paper, over "
    "harts and over the tiles of a thread, are redrawn [below the other one](images/posix-figures.png); with more harts than cores they tell of memory, not of speed. "
    "Of FIFO's threads a tenth at most is promised; the paper itself reaches that with matrix multiply, Barnes-Hut and FMM (figure 8), and with the decision tree 70 where FIFO has 94, since few of its threads wait at a time in whatever order."
)

POSIX_SUITE = Suite("posix", "POSIX threads on Comity", CASES, baseline="glibc", explanation=EXPLANATION)
