"""A part of the reports: which tests have which reason."""
from __future__ import annotations

WIDTH = 160  # of a line of names; in Markdown they are one paragraph


def lines_of(names: list[str]) -> list[str]:
    """The names of tests, some on a line, no name on two."""
    lines: list[str] = []
    for name in names:
        part = f"`{name}`"
        if lines and len(lines[-1]) + len(part) + 2 <= WIDTH:
            lines[-1] += f", {part}"
        else:
            if lines:
                lines[-1] += ","
            lines.append("  " + part)
    return lines


def by_reason(entries: list[tuple[str, str]]) -> list[str]:
    """For each reason of the (reason, test): itself, how many tests there are, and their names. The most frequent first."""
    reasons: dict[str, list[str]] = {}
    for reason, name in entries:
        reasons.setdefault(reason, []).append(name)
    lines: list[str] = []
    for reason, names in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
        lines += [f"- {reason}: {len(names)}  ", *lines_of(names)]
    return lines or ["None."]
