"""The plot of a suite: how many times faster than the baseline each runtime is, a group of bars a row, on a logarithmic axis."""
from __future__ import annotations

from pathlib import Path
from typing import List, Mapping, Sequence, Tuple

from .model import Contender, Suite
from .report import SUBJECTS, Results
from .session import values_of

COLOURS = {"libgomp-default": "#b8b8b8", "libomp": "#e08a2e", "bolt": "#6a9f58", "comity": "#1f5fa8", "comity-preload": "#86b4e3"}


def speedups(suite: Suite, names: Sequence[str], results: Results) -> List[Tuple[str, Mapping[str, float]]]:
    """(title, {contender: baseline's median over its own}) of the rows that the baseline could run and that count in time."""
    rows = []
    for case in suite.cases:
        if case.name not in results or case.metric != "us":
            continue
        values = values_of(results[case.name], SUBJECTS)
        if suite.baseline not in values:
            continue
        base = values[suite.baseline].median
        rows.append((case.title, {name: base / values[name].median for name in names if name in values and values[name].median > 0}))
    return rows


def draw(path: Path, suite: Suite, contenders: Mapping[str, Contender], results: Results, caption: str) -> bool:
    """False when there is no matplotlib, or nothing to draw."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as pyplot
    except ImportError:
        return False
    names = [name for name in contenders if name in COLOURS and name != suite.baseline]
    rows = speedups(suite, names, results)
    names = [name for name in names if any(name in row for _, row in rows)]
    if not rows or not names:
        return False
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.55 * len(rows)), dpi=120)
    height = 0.8 / len(names)
    for place, name in enumerate(names):
        at = [row + place * height for row, (_, found) in enumerate(rows) if name in found]
        widths = [found[name] for _, found in rows if name in found]
        drawn = axes.barh(at, [width - 1 for width in widths], height=height, left=1, color=COLOURS[name], label=contenders[name].title)
        axes.bar_label(drawn, [f" {width:,.3g}×" if width < 1000 else f" {width:,.0f}×" for width in widths], fontsize=7)
    axes.set_xscale("log")
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(rows))], [title for title, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.5, high * 2)
    axes.set_xlabel(f"times faster than {contenders[suite.baseline].title} (logarithmic)", fontsize=8)
    axes.set_title(f"{suite.title}\n{caption}", fontsize=9)
    axes.legend(fontsize=8, loc="best")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)
    return True
