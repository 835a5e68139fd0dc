"""The plot of a suite: how many times faster than the baseline each runtime is, a row a case and a dot a runtime, on a logarithmic
axis. A suite whose baseline is Comity is drawn the other way round: how many times Comity's cost each has."""
from __future__ import annotations

from pathlib import Path
from typing import List, Mapping, Sequence, Tuple

from .model import Contender, Suite
from .report import Results, judged_values

COLOURS = {"libgomp-default": "#b8b8b8", "libomp": "#e08a2e", "clang-libomp": "#f0c08a", "bolt": "#6a9f58", "comity": "#1f5fa8",
           "comity-preload": "#86b4e3", "comity-clang": "#5b8fc9"}
MARKERS = "osD^vPXp<>"  # beside the colours, for those who do not see them
TIMES = ("µs", "ns", "s")  # units that a ratio of says how many times faster
LIBRARY_COLOURS = {"comity-pair": "#86b4e3", "pthread": "#555555", "boost_fiber": "#8c6bb1", "tbb": "#2a9d8f", "libgomp": "#b8b8b8",
                   "libomp": "#e08a2e", "rayon": "#c0504d", "go": "#4bacc6", "argobots": "#6a9f58", "argobots-deques": "#a5c99a", "massivethreads": "#9bbb59",
                   "qthreads": "#7f6084", "libfork": "#d4a017"}


def speedups(suite: Suite, names: Sequence[str], results: Results) -> List[Tuple[str, Mapping[str, float]]]:
    """(title, {contender: baseline's median over its own}) of the rows that the baseline could run and that count in time."""
    rows = []
    for case in suite.cases:
        if case.name not in results or case.unit not in TIMES:
            continue
        values = judged_values(results[case.name])
        if suite.baseline not in values:
            continue
        base = values[suite.baseline].median
        rows.append((suite.name_of(case), {name: base / values[name].median for name in names if name in values and values[name].median > 0}))
    return rows


def costs(suite: Suite, names: Sequence[str], results: Results) -> List[Tuple[str, Mapping[str, float]]]:
    """(title, {contender: its median over the baseline's}) of the rows that are shown and that the baseline could run."""
    rows = []
    for case in suite.cases:
        values = judged_values(results.get(case.name, {}))
        if case.shown and suite.baseline in values and values[suite.baseline].median > 0:
            base = values[suite.baseline].median
            rows.append((suite.name_of(case), {name: values[name].median / base for name in names if name in values}))
    return [(title, found) for title, found in rows if found]


def draw(path: Path, suite: Suite, contenders: Mapping[str, Contender], results: Results, caption: str) -> bool:
    """False when there is no matplotlib, or nothing to draw."""
    cost = suite.baseline == suite.subject
    colours = LIBRARY_COLOURS if cost else COLOURS
    names = [name for name in contenders if name in colours and name != suite.baseline]
    rows = (costs if cost else speedups)(suite, names, results)
    axis = "time or space over {} (logarithmic; right of 1: Comity wins)" if cost else "times faster than {} (logarithmic)"
    heading = f"{suite.title}\n{caption}"
    return _draw_dots(path, heading, axis.format(contenders[suite.baseline].title) if rows else "", rows, names, colours, contenders)


def plain_numbers(axis, base: int = 10, unit: str = "") -> None:
    """40 and 1,000, not powers, at the ticks of a logarithmic axis; between powers as many as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    def plain(x, _=None) -> str:
        return f"{x:,.6g}{unit}"

    class Between(LogFormatter):
        def __call__(self, x, pos=None):
            return plain(x) if super().__call__(x, pos) else ""

    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_formatter(Between(base=base, labelOnlyBase=False, minor_thresholds=(2, 0.5)))
    axis.set_tick_params(which="both", labelsize=7)


def _draw_dots(path: Path, heading: str, axis: str, rows: Sequence[Tuple[str, Mapping[str, float]]], names: Sequence[str],
               colours: Mapping[str, str], contenders: Mapping[str, Contender]) -> bool:
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as pyplot
    except ImportError:
        return False
    rows = [(title, found) for title, found in rows if any(name in found for name in names)]
    names = [name for name in names if any(name in found for _, found in rows)]
    if not rows or not names:
        return False
    figure, axes = pyplot.subplots(figsize=(10, 1.6 + 0.26 * len(rows)), dpi=110)
    for number, name in enumerate(names):
        points = [(found[name], row) for row, (_, found) in enumerate(rows) if name in found]
        axes.scatter(*zip(*points), s=36, marker=MARKERS[number % len(MARKERS)], color=colours[name], edgecolors="white", linewidths=0.4,
                     label=contenders[name].title, zorder=3)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [title.replace("`", "") for title, _ in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.tick_params(labelsize=8)
    plain_numbers(axes.xaxis, unit="×")
    axes.set_xlabel(axis, fontsize=8)
    figure.suptitle(heading, fontsize=9)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)
    return True
