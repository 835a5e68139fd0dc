"""The results as text, and as data for JSON."""
from __future__ import annotations

from dataclasses import asdict
from typing import Dict, List, Mapping, Optional, Sequence

from .session import Outcome
from .summary import Measured, best_tuning, differences, failures, judge, shown, summarise

HEADINGS = ("", "seconds", "spread", "x best", "threads", "runnable", "switches", "CPU s")


def medians(outcome: Outcome) -> Dict[str, Measured]:
    found = {name: summarise(runs) for name, runs in outcome.runs.items()}
    return {name: value for name, value in found.items() if value is not None}


def cells(title: str, value: Measured, best: Optional[float]) -> List[str]:
    """One row. A ~ marks runs beside which other processes were busy."""
    return [title, f"{value.seconds:.3f}{'~' if value.disturbed else ''}", f"{value.fastest:.2f}-{value.slowest:.2f}",
            f"{value.seconds / best:.2f}" if best else "", f"{value.peak_threads:.0f}", f"{value.runnable:.1f}",
            f"{value.switches:,.0f}", f"{value.cpu:.1f}"]


def rows_of(outcome: Outcome) -> List[List[str]]:
    measured = medians(outcome)
    best = best_tuning(outcome.settings, measured)
    fastest = measured[best.name].seconds if best else None
    return [cells(title, value, fastest) for _, title, value in shown(outcome.settings, measured)]


def aligned(rows: Sequence[Sequence[str]]) -> List[str]:
    """The first column to the left, the numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                      for column, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def verdict_lines(outcome: Outcome, cores: int) -> List[str]:
    verdicts = judge(outcome.program, outcome.settings, medians(outcome), cores)
    return [f"{'PASS' if verdict.passed else 'MISS'}  {verdict.text}" for verdict in verdicts]


def trouble(outcomes: Sequence[Outcome]) -> List[str]:
    """What makes the comparison worthless: runs that failed, results that differ."""
    return [f"{outcome.program.name}: {line}" for outcome in outcomes
            for line in failures(outcome.runs) + differences(outcome.runs)]


def as_text(outcomes: Sequence[Outcome], cores: int) -> str:
    body = [rows_of(outcome) for outcome in outcomes]
    lines = aligned([list(HEADINGS), *(row for rows in body for row in rows)])
    text, place = [lines[0]], 1
    for outcome, rows in zip(outcomes, body):
        text += ["", f"{outcome.program.title}: {outcome.program.made_of}", *lines[place:place + len(rows)]]
        text += [f"  {line}" for line in verdict_lines(outcome, cores)]
        place += len(rows)
    if any("~" in row[1] for rows in body for row in rows):
        text += ["", "~ other processes took more than 0.15 of a core meanwhile"]
    return "\n".join(text)


def as_data(outcomes: Sequence[Outcome], conditions: Mapping[str, str], cores: int) -> dict:
    """Everything, run by run."""
    programs = {}
    for outcome in outcomes:
        measured = medians(outcome)
        best = best_tuning(outcome.settings, measured)
        programs[outcome.program.name] = {
            "title": outcome.program.title,
            "made_of": outcome.program.made_of,
            "best": best.name if best else None,
            "settings": {setting.name: {"title": setting.title,
                                        "median": asdict(measured[setting.name]) if setting.name in measured else None,
                                        "runs": [asdict(run) for run in outcome.runs[setting.name]]}
                         for setting in outcome.settings},
            "verdicts": verdict_lines(outcome, cores),
        }
    return {"conditions": dict(conditions), "programs": programs, "trouble": trouble(outcomes)}


def as_markdown(data: Mapping) -> str:
    """A section for docs/performance.md, from what as_data returns."""
    lines = ["## Three real programs", ""]
    lines += [f"- {name}: {value}" for name, value in data["conditions"].items()]
    lines += ["", "Each row is the median of the runs, which alternate; what the columns mean says [demo.md](demo.md).", "",
              "![Three real programs](images/demo.png)", ""]
    for program in data["programs"].values():
        best = program["settings"].get(program["best"], {}).get("median")
        lines += [f"### {program['title']}: {program['made_of']}", "",
                  "| " + " | ".join(HEADINGS) + " |", "|---|" + "---:|" * (len(HEADINGS) - 1)]
        for name, setting in program["settings"].items():
            if setting["median"]:
                title = setting["title"] + (" (best hand tuning)" if name == program["best"] else "")
                row = cells(title, Measured(**setting["median"]), best["seconds"] if best else None)
                lines.append("| " + " | ".join(row) + " |")
        lines += ["", *(f"- {line}" for line in program["verdicts"]), ""]
    return "\n".join(lines)
