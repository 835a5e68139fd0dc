"""Tables for the terminal and for docs/performance.md, and the JSON file that holds everything measured."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from .bars import Judgement, judge, wording
from .model import Bar, Case, Contender, Suite, Value, is_subject
from .session import Outcome, values_of
from .statistics import ratio_spread

Results = Dict[str, Dict[str, Outcome]]  # case name: contender name: outcome
DISTURBED = "~: other processes took part of a core during most of these runs."


def judged_values(outcomes: Mapping[str, Outcome]) -> Dict[str, Value]:
    return values_of(outcomes, [name for name in outcomes if is_subject(name)])


def verdict(bar: Bar, case: Case, results: Results) -> Judgement:
    """A demand on a contender that did not take part is left open: one that was not asked for, or whose program is not built."""
    outcome = results[case.name].get(bar.who)
    if outcome is None or not (outcome.values or outcome.failures):
        return "n/a", None
    peers = judged_values(results[bar.case]) if bar.case in results else {} if bar.case else None
    return judge(bar, judged_values(results[case.name]), peers)


def figure(number: float) -> str:
    """Three or four digits that matter, no exponent."""
    if number == 0:
        return "0"
    magnitude = abs(number)
    decimals = 0 if magnitude >= 100 else 1 if magnitude >= 10 else 2 if magnitude >= 0.1 else 4
    return f"{number:,.{decimals}f}"


def cell(outcome: Optional[Outcome], spread: bool = True) -> str:
    if outcome is None:
        return "–"
    if not outcome.values:
        return f"failed: {outcome.failures[0][:80]}" if outcome.failures else "–"
    value = outcome.summary()
    text = figure(value.median)
    if spread and figure(value.low) != figure(value.high):
        text += f" ({figure(value.low)}–{figure(value.high)})"
    if 2 * outcome.disturbed > len(outcome.values):
        text += " ~"
    if outcome.failures:
        text += f", failed {len(outcome.failures)} of {len(outcome.failures) + len(outcome.values)}: {outcome.failures[0][:80]}"
    return text


def bar_texts(case: Case, results: Results) -> List[str]:
    texts = []
    for bar in case.bars:
        outcome, reached = verdict(bar, case, results)
        goal = "goal " if bar.source == "anchor" else ""
        number = f" ({reached:.3g})" if reached is not None else ""
        texts.append(f"{outcome} {goal}{wording(bar, case.unit, short=True)}{number}")
    return texts


def tally(suite: Suite, results: Results) -> Dict[str, Dict[str, int]]:
    counts: Dict[str, Dict[str, int]] = {}
    for case in suite.cases:
        if case.name not in results:
            continue
        for bar in case.bars:
            outcome, _ = verdict(bar, case, results)
            counts.setdefault(bar.source, {}).setdefault(outcome, 0)
            counts[bar.source][outcome] += 1
    return counts


def tally_text(counts: Mapping[str, Mapping[str, int]]) -> str:
    names = {"issue": "bars", "anchor": "goals"}
    return "; ".join(f"{names[source]}: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(per.items()))
                     for source, per in sorted(counts.items(), reverse=True)) or "nothing judged"


def _groups(suite: Suite, results: Results) -> Dict[str, List[Case]]:
    groups: Dict[str, List[Case]] = {}
    for case in suite.cases:
        if case.name in results and case.shown:
            groups.setdefault(case.group, []).append(case)
    return groups


def _columns(cases: Sequence[Case], contenders: Mapping[str, Contender]) -> List[Contender]:
    wanted = {name for case in cases for name in case.contenders}
    return [one for name, one in contenders.items() if name in wanted]


def _faster(values: Mapping[str, Value], subject: str, peer: str) -> str:
    if subject not in values or peer not in values or values[subject].median == 0:
        return "–"
    return figure(values[peer].median / values[subject].median) + "×"


def rows_of(cases: Sequence[Case], suite: Suite, contenders: Mapping[str, Contender], results: Results) -> List[List[str]]:
    """Heading first. The two ratio columns say how many times faster the subject is."""
    columns = _columns(cases, contenders)
    timed = any(case.unit == "µs" for case in cases)  # how many times fewer threads or less idling would say nothing
    peers = [name for name in ("libgomp", "libomp") if timed and any(one.name == name for one in columns)]
    rows = [["case", "unit", *[one.title for one in columns], *[f"{peer} / Comity" for peer in peers], "bars"]]
    for case in cases:
        outcomes = results[case.name]
        values = judged_values(outcomes)
        ratios = [_faster(values, suite.subject, peer) for peer in peers]
        texts = [cell(outcomes.get(one.name)) for one in columns]
        rows.append([case.title, case.unit, *texts, *ratios, "; ".join(bar_texts(case, results))])
    return rows


def contender_rows(cases: Sequence[Case], contenders: Mapping[str, Contender], results: Results) -> List[List[str]]:
    """Heading first: a row a contender, a column a case. The heading is the case's title."""
    rows = [["", *[case.title for case in cases]]]
    for one in _columns(cases, contenders):
        rows.append([one.title, *[cell(results[case.name].get(one.name)) for case in cases]])
    return rows


def instruction_rows(cases: Sequence[Case], contenders: Mapping[str, Contender], results: Results) -> List[List[str]]:
    """Heading first: a row a contender, a column a case that was counted; only the heading if none was."""
    counted = [case for case in cases if any(one.instructions is not None for one in results[case.name].values())]
    rows = [["instructions", *[case.title for case in counted]]]
    for one in _columns(counted, contenders):
        counts = [results[case.name][one.name].instructions if one.name in results[case.name] else None for case in counted]
        if any(count is not None for count in counts):
            rows.append([one.title, *["–" if count is None else figure(count) for count in counts]])
    return rows


def hidden_rows(cases: Sequence[Case], contenders: Mapping[str, Contender], results: Results) -> List[List[str]]:
    """Heading first: a row a case that is only drawn, a column a contender; medians alone."""
    columns = _columns(cases, contenders)
    return [["", *[one.title for one in columns]],
            *[[case.title, *[cell(results[case.name].get(one.name), spread=False) for one in columns]] for case in cases]]


def demand_rows(cases: Sequence[Case], contenders: Mapping[str, Contender], results: Results) -> List[List[str]]:
    """Heading first: what was promised of those that took part, and what became of it. A demand on a contender or against a peer
    that is not there is left out."""
    rows = [["case", "of", "demand", "reached", "verdict"]]
    for case in cases:
        for bar in case.bars:
            outcome, reached = verdict(bar, case, results)
            if bar.who in contenders and outcome != "n/a":
                goal = " (goal)" if bar.source == "anchor" else ""
                rows.append([case.title, contenders[bar.who].title, wording(bar, case.unit, short=True) + goal,
                             "–" if reached is None else f"{reached:.3g}", outcome])
    return rows


def terminal_table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        fitted = [text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths))]
        lines.append("  ".join([*fitted, row[-1]]))
    lines.insert(1, "-" * min(200, len(lines[0]) + 20))
    return "\n".join(lines)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    safe = [[text.replace("|", "\\|") for text in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in safe]
    lines.insert(1, "|---" + "|---:" * (len(rows[0]) - 2) + "|---|")
    return "\n".join(lines)


def _tables(cases: Sequence[Case], suite: Suite, contenders: Mapping[str, Contender], results: Results) -> List[List[List[str]]]:
    if not suite.contenders_as_rows:
        return [rows_of(cases, suite, contenders, results)]
    further = [instruction_rows(cases, contenders, results), demand_rows(cases, contenders, results)]
    return [contender_rows(cases, contenders, results), *[rows for rows in further if len(rows) > 1]]


def terminal_report(suite: Suite, contenders: Mapping[str, Contender], results: Results) -> str:
    parts = []
    for title, cases in _groups(suite, results).items():
        for rows in _tables(cases, suite, contenders, results):
            parts += [title, terminal_table(rows), ""]
    if any("~" in part for part in parts):
        parts.append(DISTURBED)
    return "\n".join([*parts, tally_text(tally(suite, results))])


def variants_line(title: str, outcomes: Mapping[str, Outcome]) -> str:
    chosen = [f"{name} {one.variant}" for name, one in outcomes.items() if one.trial]
    return f"- {title}: " + ", ".join(chosen) if chosen else ""


def extras_line(title: str, outcomes: Mapping[str, Outcome], with_instructions: bool = True) -> str:
    parts = []
    for name, one in outcomes.items():
        facts = [f"{key} {figure(sorted(numbers)[len(numbers) // 2])}" for key, numbers in one.extra.items()]
        if with_instructions and one.instructions is not None:
            facts.append(f"{figure(one.instructions)} instructions a region")
        if facts:
            parts.append(f"{name} ({', '.join(facts)})")
    return f"- {title}: " + "; ".join(parts) if parts else ""


def markdown_report(suite: Suite, contenders: Mapping[str, Contender], results: Results, conditions: Mapping[str, str],
                    plots: Sequence[str] = ()) -> str:
    """The generated section. Losses stand in it like everything else."""
    lines = [f"## {suite.title}", ""]
    lines += [f"- {name}: {value}" for name, value in conditions.items() if value]
    lines += ["", "Medians of the repeats, with the middle half of them in brackets; the contenders alternate in one run. "
              f"Result: {tally_text(tally(suite, results))}.", "", *([suite.explanation, ""] if suite.explanation else [])]
    for plot in plots:
        lines += [f"![{suite.title}]({plot})", ""]
    for title, cases in _groups(suite, results).items():
        lines += [f"### {title}", ""]
        for rows in _tables(cases, suite, contenders, results):
            lines += [markdown_table(rows), ""]
    hidden = [case for case in suite.cases if case.name in results and not case.shown]
    if hidden and suite.contenders_as_rows:
        lines += [f"### {hidden[0].group}", "", markdown_table(hidden_rows(hidden, contenders, results)), ""]
    if any("~" in line for line in lines):
        lines += [DISTURBED, ""]
    shown = [(suite.name_of(case), results[case.name]) for case in suite.cases if case.name in results and case.shown]
    has_table = suite.contenders_as_rows  # of instructions
    for heading, lines_found in (("Best settings found:", [variants_line(*one) for one in shown]),
                                 ("Beside the table:", [extras_line(*one, with_instructions=not has_table) for one in shown])):
        found = [line for line in lines_found if line]
        if found:
            lines += [heading, "", *found, ""]
    return "\n".join(lines).rstrip() + "\n"


def replace_section(document: str, name: str, section: str, maker: str = "bench/run") -> str:
    """Puts `section` between the markers of that name, or at the end with new markers."""
    begin, end = f"<!-- bench:{name} begin (generated by {maker}) -->", f"<!-- bench:{name} end -->"
    block = f"{begin}\n{section}{end}\n"
    if begin in document:
        head, _, rest = document.partition(begin)
        if end not in rest:
            raise ValueError(f"the marker '{end}' is missing")
        return head + block + rest.partition(end)[2].lstrip("\n")
    separator = "" if not document or document.endswith("\n\n") else "\n" if document.endswith("\n") else "\n\n"
    return document + separator + block


def as_json(suite: Suite, results: Results, conditions: Mapping[str, str]) -> str:
    cases = []
    for case in suite.cases:
        if case.name not in results:
            continue
        verdicts = [{"bar": wording(bar, case.unit), "of": bar.who, "source": bar.source, "verdict": outcome, "reached": reached}
                    for bar in case.bars for outcome, reached in [verdict(bar, case, results)]]
        cases.append({"name": case.name, "title": case.title, "metric": case.metric, "unit": case.unit, "bars": verdicts,
                      "contenders": {name: _outcome_json(one, results[case.name].get("comity")) if case.shown else _point_json(one)
                                     for name, one in results[case.name].items()}})
    return json.dumps({"suite": suite.name, "conditions": dict(conditions), "cases": cases}, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> Tuple[Results, Dict[str, str]]:
    """What as_json has written, and the conditions: to be drawn on another machine than it was measured on."""
    document = json.loads(text)
    fields = ("variant", "values", "extra", "failures", "disturbed", "trial")
    results: Results = {}
    for case in document["cases"]:
        results[case["name"]] = {name: Outcome(**{field: one[field] for field in fields if field in one}, instructions=one.get("instructions_per_region"))
                                 for name, one in case["contenders"].items()}
    return results, document["conditions"]


def _point_json(one: Outcome) -> dict:
    """Of a point of a curve, in short: there are very many."""
    return {"values": one.values, **({"failures": one.failures} if one.failures else {})}


def _outcome_json(one: Outcome, subject: Optional[Outcome]) -> dict:
    record: dict = {"variant": one.variant, "values": one.values, "extra": one.extra, "failures": one.failures,
                    "disturbed": one.disturbed, "trial": one.trial}
    if one.values:
        value = one.summary()
        record.update(median=value.median, low=value.low, high=value.high)
        if subject is not None and subject is not one and subject.values and all(subject.values):
            ratio = ratio_spread(one.values, subject.values)
            record["times_comity"] = {"median": ratio.median, "low": ratio.low, "high": ratio.high}
    if one.instructions is not None:
        record["instructions_per_region"] = one.instructions
    return record


def write_files(repository: Path, suite: Suite, section: str, json_text: str) -> List[Path]:
    results, page = repository / "docs" / "results" / f"{suite.name}.json", repository / "docs" / "performance.md"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json_text)
    before = page.read_text() if page.exists() else "# Performance\n"
    page.write_text(replace_section(before, suite.name, section))
    return [results, page]
