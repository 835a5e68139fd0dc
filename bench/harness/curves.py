"""The figures of the thesis of Iwasaki: cycles for a creation and a join over D (figures 3.28, 3.29) and over N at D = 0 and 100 %
(3.30 to 3.33), parent-first and child-first apart, in both orders of joining. Figures 3.10, 3.18 and 3.26 show the same for one
machine."""
from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, Mapping, Sequence, Tuple

from .libraries import TECHNIQUES, technique_contender
from .lines import Curve, Panel, curve, draw_figure
from .model import Contender
from .registry_threads import D_OF_FIGURES, N_OF_FIGURES, point_name
from .report import Results

PEERS = ("argobots", "argobots-deques", "massivethreads", "massivethreads-parent-first", "qthreads", "boost_fiber", "go", "tbb", "rayon", "libomp")
ORDERS = {"forward": "joined in the order of creation", "reverse": "joined in reverse"}


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


def panel(title: str, curves: Dict[str, Curve], over_n: bool) -> Panel:
    return Panel(title, curves, "N" if over_n else "D, per cent", "cycles for a creation and a join", 2 if over_n else 0)


def draw(folder: Path, contenders: Mapping[str, Contender], results: Results, caption: str) -> List[str]:
    """Draws what can be drawn, and names the files."""
    figures = [("threads-over-d.png", "N = 4096, over the share D of threads that yield once", over_deviation(results), False),
               *((f"threads-over-n{'' if order == 'forward' else '-reverse'}.png", f"over the number N of threads, {ORDERS[order]}",
                  over_threads(results, order), True) for order in ORDERS)]
    return [name for name, heading, panels, over_n in figures
            if draw_figure(folder / name, f"{heading}\n{caption}", [panel(*one, over_n) for one in panels], contenders)]
