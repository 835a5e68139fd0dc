"""The thesis of Iwasaki, chapter 4: the points of figures 4.7 to 4.13. On a machine of few cores N is a number of threads, not of cores."""
from __future__ import annotations

from typing import List, Sequence, Tuple

from .model import Case, Suite

WIDTHS = (2, 4, 8, 16, 32, 56)
POLICIES = ("libgomp-active", "libgomp-passive", "libomp-14-active", "libomp-14-passive", "libomp-19-active", "libomp-19-passive", "comity")
TASKLOOPS = ("libgomp-active-taskloop", "libomp-14-active-taskloop", "libomp-19-active-taskloop", "comity-taskloop")
QUICK = ("2", "8", "1", "3")  # the points that --quick keeps

# Figure: its title, the name of its axis, the program, the points, and of a point the arguments.
FIGURES = {
    "4.7": ("nested L×56, empty", "L", "nested/nested", WIDTHS, lambda x: ["--outer", x, "--inner", "56"]),
    "4.8a": ("flat region, empty", "threads", "nested/flat", WIDTHS, lambda x: ["--threads", x]),
    "4.8b": ("nested N×N, empty", "N", "nested/nested", WIDTHS[:-1], lambda x: ["--outer", x, "--inner", x]),
    "4.10": ("insufficient parallelism, L×8, 20,000 cycles each", "L", "nested/insufficient", WIDTHS[:-1],
             lambda x: ["--outer", x, "--inner", "8"]),
    "4.11": ("unbalanced inner loops, 8×8", "α", "nested/unbalanced", (0.1, 0.3, 1, 3, 10), lambda x: ["--threads", "8", "--alpha", x]),
    "4.13": ("recursion of 4, 20,000 · 4⁵ cycles in all", "D", "nested/recursion", (0, 1, 2, 3, 4, 5),
             lambda x: ["--depth", x, "--cycles", str(20000 * 4**5)]),
}
WITH_TASKLOOP = ("4.10", "4.11")


def contenders_of(figure: str) -> Tuple[str, ...]:
    return POLICIES + TASKLOOPS if figure in WITH_TASKLOOP else POLICIES


def point_name(figure: str, x: object) -> str:
    return f"figure-{figure}-{x}"


def _points(figure: str) -> List[Case]:
    title, axis, program, points, arguments = FIGURES[figure]
    works = figure in ("4.10", "4.11", "4.13")
    return [Case(point_name(figure, x), f"{axis} = {x}", f"Figure {figure}: {title} (µs)", program, [*arguments(str(x)), "--budget-s", "0.4"],
                 contenders_of(figure), extra=["serial_us"] if works else [], needs_rate=works, sampled=False, rounds=2,
                 quick=["--samples", "3", "--sample-ms", "2"], quick_too=str(x) in QUICK, timeout=60) for x in points]


def cases(figures: Sequence[str] = tuple(FIGURES)) -> List[Case]:
    return [case for figure in figures for case in _points(figure)]


FIGURES_SUITE = Suite(
    "figures", "Figures 4.7 to 4.13 of the thesis", cases(), contenders_as_rows=True,
    explanation="The wait policies are lines of their own; nesting and, in libomp, hot teams are on at every level; the binaries are gcc's. *taskloop*: the inner "
    "loop is one, of the outer team's tasks. *Ideal*, in the plots: the work alone, shared evenly by the cores.")
