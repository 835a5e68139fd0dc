"""The plots over numbers of threads: figures 4.7 to 4.13 of the thesis of Iwasaki, and FFTW's plans (5.6 to 5.12); figures 5, 7, 9 and 11 of Narlikar and
Blelloch."""
from __future__ import annotations

import os
from pathlib import Path
from typing import List, Mapping, Tuple

from . import registry_posix
from .lines import Panel, curves_of, draw_figure
from .model import Contender, Suite
from .registry_figures import FIGURES, contenders_of, point_name
from .registry_openmp import BOTH_COMPILERS, INNER
from .report import Results

MICROSECONDS = "µs for the outermost region"


def ideal(results: Results, figure: str) -> List[Tuple[float, float]]:
    """The work alone, shared by the cores; where the recursion has no region, by one."""
    cores = len(os.sched_getaffinity(0))
    found = []
    for x in FIGURES[figure][3]:
        serial = [time for outcome in results.get(point_name(figure, x), {}).values() for time in outcome.extra.get("serial_us", ())]
        if serial:
            found.append((x, min(serial) / (1 if figure == "4.13" and x == 0 else cores)))
    return found


def draw_thesis(folder: Path, contenders: Mapping[str, Contender], results: Results, caption: str) -> List[str]:
    panels = []
    for figure, (title, axis, _, points, _) in FIGURES.items():
        present = [name for name in contenders_of(figure) if name in contenders]
        panels.append(Panel(f"{figure}: {title}", curves_of(results, present, points, lambda x, figure=figure: point_name(figure, x)), axis,
                            MICROSECONDS, 0 if axis == "D" else 10 if axis == "α" else 2, ideal(results, figure)))
    return ["figures.png"] if draw_figure(folder / "figures.png", f"Figures 4.7 to 4.13\n{caption}", panels, contenders) else []


def draw_fftw(folder: Path, contenders: Mapping[str, Contender], results: Results, caption: str) -> List[str]:
    present = [name for name in BOTH_COMPILERS if name in contenders]
    panels = [Panel(title, curves_of(results, present, INNER, lambda x, stem=stem: f"{stem}-{x}"), "threads of a plan", "µs for all transforms", 2)
              for stem, title in (("fftw-2d-16", "16 transforms of 256², two at a time"), ("fftw-2d-3", "3 transforms of 256², two at a time"),
                                  ("fftw-3d", "one transform of 64³"))]
    return ["fftw-over-threads.png"] if draw_figure(folder / "fftw-over-threads.png", f"FFTW\n{caption}", panels, contenders) else []


def draw_posix(folder: Path, contenders: Mapping[str, Contender], results: Results, caption: str) -> List[str]:
    """What the paper draws over processors, over harts; figure 7 has the orders side by side that 5 and 9 have the first of."""
    present = [name for name in registry_posix.ORDERS if name in contenders]

    def over_harts(title: str, program: str, metric: str, unit: str) -> Panel:
        return Panel(title, curves_of(results, present, registry_posix.HARTS, lambda n: registry_posix.point_name(program, metric, n)), "harts", unit, 2)

    panels = [over_harts("5a, 7a: matrices of 1024²", "matmul", "seconds", "seconds"),
              over_harts("5b, 7b: matrices of 1024²", "matmul", "heap_mb", "heap at most, MB"),
              over_harts("7: matrices of 1024²", "matmul", "alive", "threads that live, at most"),
              over_harts("9a: fast multipole method", "fmm", "heap_mb", "heap at most, MB"),
              over_harts("9b: decision tree", "decision_tree", "heap_mb", "heap at most, MB"),
              Panel("11: volume rendering", curves_of(results, ["glibc", *present], registry_posix.TILES, lambda tiles: f"posix-tiles-{tiles}"), "tiles a thread",
                    "seconds", 10)]
    return ["posix-figures.png"] if draw_figure(folder / "posix-figures.png", f"Narlikar and Blelloch 1998\n{caption}", panels, contenders) else []


def draw_scaling(suite: Suite, folder: Path, contenders: Mapping[str, Contender], results: Results, caption: str) -> List[str]:
    """A panel for each program, over cores; where the work is the same on all of them, with the best time of one core evenly shared."""
    panels = []
    for title in dict.fromkeys(case.group for case in suite.cases):
        cases = {case.cores: case for case in suite.cases if case.group == title and case.name in results}
        if not cases:
            continue
        curves = curves_of(results, list(dict.fromkeys(cases[max(cases)].contenders)), list(cases), lambda cores, cases=cases: cases[cores].name)
        alone = [points[0][1] for points in curves.values() if points[0][0] == 1]
        shared = [(cores, min(alone) / cores) for cores in cases if alone and cores <= max(points[-1][0] for points in curves.values())]
        panels.append(Panel(title.rpartition(" (")[0], curves, "cores", cases[max(cases)].unit, 2, shared))
    name = f"{suite.name}.png"
    return [name] if draw_figure(folder / name, f"{suite.title}\n{caption}", panels, contenders) else []
