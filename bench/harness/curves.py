"""The figures of the thesis of Iwasaki: cycles for a creation and a join over D (figures 3.28, 3.29) and over N at D = 0 and 100 %
(3.30 to 3.33), parent-first and child-first apart, in both orders of joining."""
from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, Mapping, Sequence, Tuple

from .libraries import TECHNIQUES, technique_contender
from .model import Contender
from .registry_threads import D_OF_FIGURES, N_OF_FIGURES, point_name
from .report import Results, judged_values

Curve = List[Tuple[int, float]]
PEERS = ("argobots", "argobots-deques", "massivethreads", "massivethreads-parent-first", "qthreads", "boost_fiber", "go", "tbb", "rayon", "libomp")
ORDERS = {"forward": "joined in the order of creation", "reverse": "joined in reverse"}


def curve(results: Results, contender: str, xs: Sequence[int], name_of: Callable[[int], str]) -> Curve:
    """The medians that there are."""
    found = []
    for x in xs:
        values = judged_values(results.get(name_of(x), {}))
        if contender in values:
            found.append((x, values[contender].median))
    return found


def panel_contenders(child_first: bool) -> List[str]:
    ours = [technique_contender(name) for name, _, is_child_first in TECHNIQUES if is_child_first == child_first]
    return ours + [name for name in PEERS if name != ("massivethreads-parent-first" if child_first else "massivethreads")]


def panel_curves(results: Results, child_first: bool, xs: Sequence[int], name_of: Callable[[int], str]) -> Dict[str, Curve]:
    curves = {name: curve(results, name, xs, name_of) for name in panel_contenders(child_first)}
    return {name: points for name, points in curves.items() if points}


def over_deviation(results: Results) -> List[Tuple[str, Dict[str, Curve]]]:
    """(title, curves) of each panel: rows are orders, columns are who runs first."""
    return [(f"{'child' if child_first else 'parent'}-first, {ORDERS[order]}",
             panel_curves(results, child_first, D_OF_FIGURES, lambda d, order=order: point_name(4096, d, order)))
            for order in ORDERS for child_first in (False, True)]


def over_threads(results: Results, order: str) -> List[Tuple[str, Dict[str, Curve]]]:
    return [(f"{'child' if child_first else 'parent'}-first, D = {d} %",
             panel_curves(results, child_first, N_OF_FIGURES, lambda n, d=d: point_name(n, d, order)))
            for d in (0, 100) for child_first in (False, True)]


def _draw_panel(axes, title: str, curves: Mapping[str, Curve], contenders: Mapping[str, Contender], over_n: bool) -> None:
    markers = "osD^vP*Xhp<>d"
    for place, (name, points) in enumerate(curves.items()):
        ours = name.startswith("comity")
        xs, ys = zip(*points)
        axes.plot(xs, ys, label=contenders[name].title, linewidth=1.4 if ours else 1, linestyle="-" if ours else ":", markersize=4,
                  marker=markers[place % len(markers)], color=f"C{place % 10}" if ours else str(0.25 + 0.5 * (place % 4) / 4))
    if over_n:
        axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("N" if over_n else "D, per cent", fontsize=8)
    axes.set_ylabel("cycles for a creation and a join", fontsize=8)
    axes.grid(True, which="both", linewidth=0.3)
    if curves:
        axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def draw_figure(path: Path, heading: str, panels: Sequence[Tuple[str, Dict[str, Curve]]], contenders: Mapping[str, Contender],
                over_n: bool) -> bool:
    """False when there is no matplotlib, or nothing to draw."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as pyplot
    except ImportError:
        return False
    if not any(len(points) > 1 for _, curves in panels for points in curves.values()):
        return False
    figure, grid = pyplot.subplots(2, 2, figsize=(14, 9), dpi=100)
    for axes, (title, curves) in zip(grid.flat, panels):
        _draw_panel(axes, title, curves, contenders, over_n)
    figure.suptitle(heading, fontsize=10)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)
    return True


def draw(folder: Path, contenders: Mapping[str, Contender], results: Results, caption: str) -> List[str]:
    """Draws what can be drawn, and names the files."""
    figures = [("threads-over-d.png", "N = 4096, over the share D of threads that yield once", over_deviation(results), False),
               *((f"threads-over-n{'' if order == 'forward' else '-reverse'}.png", f"over the number N of threads, {ORDERS[order]}",
                  over_threads(results, order), True) for order in ORDERS)]
    return [name for name, heading, panels, over_n in figures
            if draw_figure(folder / name, f"{heading}\n{caption}", panels, contenders, over_n)]
