"""Draws curves, a panel each for what belongs together: a line a contender, both axes logarithmic where that helps."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Sequence, Tuple, TypeVar

from .model import Contender, is_subject
from .plot import plain_numbers
from .report import Results, judged_values

Point = TypeVar("Point")
Curve = List[Tuple[Point, float]]
MARKERS = "osD^vP*Xhp<>d"


@dataclass(frozen=True)
class Panel:
    title: str
    curves: Mapping[str, Curve]  # by contender
    x_label: str
    y_label: str
    log_base: int = 0  # of the lower axis; 0: linear
    ideal: Sequence[Tuple[float, float]] = ()  # a dashed line


def curve(results: Results, contender: str, xs: Sequence[Point], name_of: Callable[[Point], str]) -> Curve:
    """The medians that there are."""
    found = []
    for x in xs:
        values = judged_values(results.get(name_of(x), {}))
        if contender in values:
            found.append((x, values[contender].median))
    return found


def curves_of(results: Results, contenders: Sequence[str], xs: Sequence[Point], name_of: Callable[[Point], str]) -> Dict[str, Curve]:
    found = {name: curve(results, name, xs, name_of) for name in contenders}
    return {name: points for name, points in found.items() if points}


def _draw_panel(axes, panel: Panel, contenders: Mapping[str, Contender]) -> None:
    for place, (name, points) in enumerate(panel.curves.items()):
        ours = is_subject(name)
        xs, ys = zip(*points)
        axes.plot(xs, ys, label=contenders[name].title, linewidth=1.4 if ours else 1, linestyle="-" if ours else ":", markersize=4,
                  marker=MARKERS[place % len(MARKERS)], color=f"C{place % 10}" if ours else str(0.25 + 0.5 * (place % 4) / 4))
    if panel.ideal:
        axes.plot(*zip(*panel.ideal), label="Ideal", linewidth=1, linestyle="--", color="black")
    if panel.log_base:
        axes.set_xscale("log", base=panel.log_base)
        plain_numbers(axes.xaxis, panel.log_base)
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.grid(True, which="both", linewidth=0.3)
    if panel.curves:
        axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def draw_figure(path: Path, heading: str, panels: Sequence[Panel], contenders: Mapping[str, Contender]) -> bool:
    """False when there is no matplotlib, or nothing to draw. Two panels a row."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as pyplot
    except ImportError:
        return False
    if not any(len(points) > 1 for panel in panels for points in panel.curves.values()):
        return False
    rows = (len(panels) + 1) // 2
    figure, grid = pyplot.subplots(rows, 2, figsize=(14, 4.5 * rows), dpi=100, squeeze=False)
    for axes, panel in zip(grid.flat, panels):
        _draw_panel(axes, panel, contenders)
    for axes in list(grid.flat)[len(panels):]:
        axes.set_visible(False)
    figure.suptitle(heading, fontsize=10)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)
    return True
