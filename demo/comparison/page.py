"""One HTML file with the picture, the tables and the conditions, to be read without a network."""
from __future__ import annotations

from html import escape
from typing import List, Mapping, Sequence

from .session import Outcome
from .table import HEADINGS, medians, rows_of, trouble, verdict_lines

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; margin: .5rem 0 } th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left } tr.comity td { font-weight: 600; background: #eaf6f1 }
figure { margin: 1rem 0 } figure svg { width: 100%; height: auto }
.pass { color: #00634a } .miss { color: #a33c00 } .trouble { background: #fde8dc; padding: .5rem 1rem }
code { background: #f3f3f3; padding: 0 .2rem } dt { font-weight: 600 } dd { margin: 0 0 .3rem 1rem }
"""

EXPLANATION = """
<p>Each program ran in turns under every setting, unmodified. <em>Seconds</em> is the section that the program times itself, the median of
its runs; <em>spread</em> the fastest and the slowest; <em>x best</em> the ratio to the best hand tuning, found by trying a grid of thread
counts; <em>threads</em> the most kernel threads at a time; <em>runnable</em> how many of them ran or waited for a core, on average;
<em>switches</em> the context switches of the whole process.</p>
"""


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["<table>", "<tr>" + "".join(f"<th>{escape(heading)}</th>" for heading in headings) + "</tr>"]
    for row in rows:
        kind = ' class="comity"' if row[0].startswith("Comity") else ""
        lines.append(f"<tr{kind}>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    return "\n".join([*lines, "</table>"])


def grid_rows(outcome: Outcome) -> List[List[str]]:
    measured = medians(outcome)
    return [[setting.title, f"{measured[setting.name].seconds:.3f}"] for setting in outcome.settings if setting.name in measured]


def section(outcome: Outcome, cores: int) -> str:
    verdicts = "".join(f'<li class="{line[:4].lower()}">{escape(line)}</li>' for line in verdict_lines(outcome, cores))
    return "\n".join([
        f"<h2>{escape(outcome.program.title)}</h2>", f"<p>{escape(outcome.program.made_of)}</p>",
        table(HEADINGS, rows_of(outcome)), f"<ul>{verdicts}</ul>",
        "<details><summary>every setting that was tried</summary>", table(("", "seconds"), grid_rows(outcome)), "</details>"])


def page(outcomes: Sequence[Outcome], conditions: Mapping[str, str], cores: int, picture: str) -> str:
    """`picture` is the text of an SVG file."""
    bad = trouble(outcomes)
    warning = f'<div class="trouble"><strong>Not valid:</strong><br>{"<br>".join(map(escape, bad))}</div>' if bad else ""
    drawing = picture[picture.index("<svg"):] if "<svg" in picture else ""
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in conditions.items() if value)
    return "\n".join([
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Comity: the demo</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">', f"<style>{STYLE}</style></head><body>",
        "<h1>Comity: three real programs, nothing tuned</h1>", warning, f"<figure>{drawing}</figure>", EXPLANATION,
        *(section(outcome, cores) for outcome in outcomes), f"<h2>Conditions</h2><dl>{listed}</dl>", "</body></html>", ""])
