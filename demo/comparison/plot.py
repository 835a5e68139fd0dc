"""The picture: for each program what four settings cost, on logarithmic axes, because the defaults cost many times the rest."""
from __future__ import annotations

from pathlib import Path
from typing import List, Mapping, Sequence, Tuple

from .programs import COMITY, DEFAULT, SEQUENTIAL
from .session import Outcome
from .summary import Measured, shown
from .table import medians

# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = {SEQUENTIAL: "#999999", DEFAULT: "#D55E00", "best": "#56B4E9", COMITY: "#009E73"}
INK, PALE = "#222222", "#e4e4e4"

Row = Tuple[str, str, Measured]


def colour(name: str, place: int) -> str:
    """The best hand tuning has a name of its own in every program, and may be the sequential setting: its place tells."""
    return COLOURS["best"] if place == 2 and name != COMITY else COLOURS[name]


def seconds_label(value: Measured, best: float, exact: bool = False) -> str:
    """With the ratio to the best hand tuning where it is worth a word, or in any case and to the hundredth."""
    ratio = value.seconds / best
    text = f"{ratio:.2f}" if exact else f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1.5 else ""
    return f"{value.seconds:.2f} s" + (f"  ({text}× the best)" if text else "")


def short(number: float) -> str:
    """The label of a tick: 100, 10 k, 1 M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:g} {unit}"
    return f"{number:g}"


def draw(paths: Sequence[Path], outcomes: Sequence[Outcome], conditions: Mapping[str, str], cores: int) -> bool:
    """Writes the same picture to each path, in the format that its name says. False when there is no matplotlib."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as pyplot
    except ImportError:
        return False
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "comity", "font.family": "DejaVu Sans", "text.color": INK})
    tables = [(outcome, rows) for outcome in outcomes if (rows := shown(outcome.settings, medians(outcome)))]
    if not tables:
        return False
    figure, grid = pyplot.subplots(len(tables), 3, squeeze=False, sharex="col", figsize=(12, 1.5 + 1.75 * len(tables)), dpi=130,
                                   gridspec_kw={"width_ratios": [1.5, 1, 1], "wspace": 0.08, "hspace": 0.42})
    for line, (outcome, rows) in zip(grid, tables):
        _program(line, outcome, rows, cores)
    _columns(grid, cores)
    figure.suptitle("Three unmodified programs, each built of parallel libraries that compete for the cores",
                    x=0.015, y=0.985, ha="left", va="top", fontsize=13, fontweight="bold")
    figure.text(0.015, 0.985 - 0.36 / figure.get_figheight(), caption(conditions), ha="left", va="top", fontsize=8.5, color="#555555")
    figure.subplots_adjust(left=0.15, right=0.985, top=1 - 1.05 / figure.get_figheight(), bottom=0.55 / figure.get_figheight())
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    pyplot.close(figure)
    return True


def caption(conditions: Mapping[str, str]) -> str:
    parts = [conditions.get("machine", ""), conditions.get("system", ""), conditions.get("date", ""),
             f"medians of {conditions.get('repeats', '?')} runs in turns"]
    return "  ·  ".join(part for part in parts if part)


def _program(line, outcome: Outcome, rows: List[Row], cores: int) -> None:
    best = min((value.seconds for name, _, value in rows if name not in (DEFAULT, COMITY)), default=rows[0][2].seconds)
    heights = list(range(len(rows), 0, -1))
    for axes in line:
        axes.set_ylim(0.4, len(rows) + 0.6)
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_axisbelow(True)
        axes.grid(axis="x", color=PALE, linewidth=0.8)
    line[0].set_yticks(heights, [title.replace(" (", "\n(") for _, title, _ in rows], fontsize=8.5)
    line[0].tick_params(axis="y", length=0)
    line[0].annotate(f"{outcome.program.title}: {outcome.program.made_of}", (0.015, 1.08),
                     xycoords=("figure fraction", "axes fraction"), fontsize=9.5, fontweight="bold")
    for place, (height, (name, _, value)) in enumerate(zip(heights, rows)):
        paint = colour(name, place)
        line[0].plot([value.fastest, value.slowest], [height, height], color=paint, linewidth=2.2, alpha=0.55, solid_capstyle="butt")
        for axes, number, label in ((line[0], value.seconds, seconds_label(value, best, exact=name == COMITY)),
                                    (line[1], max(value.runnable, 0.1), f"{value.runnable:.1f} of {value.peak_threads:.0f}"),
                                    (line[2], max(value.switches, 1), f"{value.switches:,.0f}")):
            axes.plot([number], [height], "o", color=paint, markersize=8, markeredgecolor="white", markeredgewidth=0.8)
            right = value.slowest if axes is line[0] else number
            axes.annotate(label, (right, height), xytext=(8, 0), textcoords="offset points", va="center", fontsize=8.5,
                          fontweight="bold" if name == COMITY else "normal",
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    line[1].axvline(cores, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))


def _columns(grid, cores: int) -> None:
    from matplotlib.ticker import LogLocator
    names = ("seconds, logarithmic\n(line: from the fastest run to the slowest)",
             f"kernel threads runnable on average, of the most\nthat there were (dashed: the machine's {cores} cores)",
             "context switches, logarithmic")
    for axes, name in zip(grid[-1], names):
        axes.set_xlabel(name, fontsize=8.5)
        axes.tick_params(axis="x", labelsize=8)
    for column, steps, room in ((0, (1, 2, 5), 0.42), (2, (1,), 0.38)):
        axes = grid[-1][column]
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * (high / low) ** room)  # room for the labels to the right of the points
        axes.xaxis.set_major_locator(LogLocator(subs=steps))
        axes.xaxis.set_major_formatter(lambda value, _: short(value))
        axes.minorticks_off()
    low, high = grid[-1][1].get_xlim()
    grid[-1][1].set_xlim(0, max(high, cores + 1) * 1.4)
