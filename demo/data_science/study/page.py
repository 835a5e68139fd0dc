"""The Markdown page: what was measured stands above a marker, what people wrote about it below, where it stays."""
from __future__ import annotations

from typing import List, Mapping, Optional, Sequence

from .settings import COMITY, DEFAULTS
from .summary import Outcome, Row

MARKER = "<!-- measured above, by demo/data_science/run -->"

HEAD = """# Data-science programs under `comity run`

Small programs of PyPI's packages, unmodified, which know nothing of Comity: as they are, with the best of some hand tunings, and under
`comity run` with nothing set. [demo/data_science](../../demo/data_science/README.md) holds them, and measured this page.
"""

NOTES = """\
- times: seconds of the part that computes, medians of the runs, which take turns; *defaults* once; four workers where nothing
  else is said
- tuned: *2 × 1*: two workers, one thread in each library; *BLAS 1*: `OPENBLAS_NUM_THREADS=1`, the rest as it is; *one thread each*: in
  each library, workers as they are; *one worker*, *two workers*: the libraries as they are
- ratio: `comity run` to the best tuned"""


class LostMarker(ValueError):
    """The page that stands there has no line that says where people's prose begins."""


def prose_of(page: str) -> str:
    """What stands behind the marker. A page without one is an error and not a lost page; an empty one has no prose."""
    lines = page.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if line.strip() == MARKER:
            return "".join(lines[place + 1:])
    if page.strip():
        raise LostMarker(f"the page has no line\n{MARKER}\nbehind which stands what is to be kept; add it, or name another file "
                         "with --output")
    return ""


def merge(page: str, measured: str) -> str:
    return f"{measured.rstrip()}\n\n{MARKER}\n{prose_of(page)}"


def seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def cell(outcome: Optional[Outcome], hangs: bool, tuning: str = "") -> str:
    if outcome is None:
        return "hangs (not tried)" if hangs else "–"
    if outcome.hung:
        return "hangs"
    if outcome.seconds is None:
        return "fails"
    text = seconds(outcome.seconds) + (f", {tuning}" if tuning else "")
    notes = ([f"{outcome.failed} of {outcome.runs} failed"] if outcome.failed else []) + (["other results"] if outcome.wrong else [])
    return text + (f" ({', '.join(notes)})" if notes else "")


def table_row(row: Row) -> List[str]:
    best = row.outcomes.get(row.best) if row.best else None
    return [row.program.title, cell(row.outcomes.get(DEFAULTS), DEFAULTS in row.program.hangs), cell(best, False, row.best or ""),
            cell(row.outcomes.get(COMITY), COMITY in row.program.hangs), "–" if row.ratio is None else f"{row.ratio:.2f}"]


def table(rows: Sequence[Row]) -> str:
    lines = [["program", "defaults", "best tuned", "`comity run`", "ratio"], ["---", "---:", "---:", "---:", "---:"], *map(table_row, rows)]
    return "\n".join("| " + " | ".join(cells) + " |" if cells[0] != "---" else "|" + "|".join(cells) + "|" for cells in lines)


def measured(rows: Sequence[Row], conditions: Mapping[str, str]) -> str:
    """Everything above the marker."""
    remarks = [remark for row in rows for remark in row.remarks]
    verdict = "No run failed, and all results are the same to 6 digits."
    if remarks:
        verdict = "What failed or differed (results are compared to 6 digits):\n\n" + "\n".join(f"- {remark}" for remark in remarks)
    stated = "\n".join(f"- {name}: {value}" for name, value in conditions.items() if value)
    return f"{HEAD}\n{stated}\n{NOTES}\n\n{table(rows)}\n\n{verdict}\n"
