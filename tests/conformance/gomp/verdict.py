"""Sorts results: counts for each language, which failures are Comity's, and what explains each of them.

A failure is explained by Comity's own message, `comity: SYMBOL: ...`, if SYMBOL is in expected.json, or else by the test's
own entry there. What fails on stock libgomp on this machine as well is no failure of Comity.
"""
from __future__ import annotations

import fnmatch
import json
from dataclasses import dataclass
from pathlib import Path

from execute import LOUD

COLUMNS = ("pass", "fail", "timeout")


@dataclass
class expectations:
    """What is known not to work yet: symbols (patterns) and tests (patterns) -> the construct and where it is planned."""
    symbols: dict[str, str]
    tests: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "expectations":
        table = json.loads(path.read_text())
        return cls(table["symbols"], table["tests"])

    def explain(self, name: str, run: dict) -> str:
        """The reason for a failure, or nothing."""
        for symbol in LOUD.findall(run["output"]):
            for pattern, construct in self.symbols.items():
                if fnmatch.fnmatchcase(symbol, pattern):
                    return f"{construct} (`{symbol}`)"
        for pattern, reason in self.tests.items():
            if fnmatch.fnmatchcase(name, pattern):
                return reason
        return ""

    def stale(self, results: dict) -> list[str]:
        """Entries for tests that pass."""
        ran = {name: result["comity"]["status"] for name, result in results.items() if "comity" in result}
        return [pattern for pattern in self.tests
                if (known := fnmatch.filter(ran, pattern)) and all(ran[name] == "pass" for name in known)]


def group(result: dict) -> str:
    """run; or why the test is not one of the run-time library: compile, unsupported, skip."""
    if result.get("unsupported"):
        return "unsupported"
    if result["kind"] != "run":
        return "compile"
    return "run" if result.get("stock") else "skip"


def counts(results: dict, language: str) -> dict:
    mine = [result for result in results.values() if result["language"] == language]
    table = {name: sum(group(result) == name for result in mine) for name in ("run", "compile", "unsupported", "skip")}
    for library in ("stock", "comity"):
        runs = [result[library] for result in mine if result.get(library)]
        table[library] = {status: sum(run["status"] == status for run in runs) for status in COLUMNS}
        table[library]["never called"] = sum(not run["calls"] for run in runs)
    return table


def failures(results: dict, known: expectations) -> list[dict]:
    """Every test that passes on stock and not on Comity, with its reason."""
    found = []
    for name, result in sorted(results.items()):
        run, stock = result.get("comity"), result.get("stock")
        if run and run["status"] != "pass" and stock["status"] == "pass":
            found.append({"test": name, "status": run["status"], "why": run["why"], "explained": known.explain(name, run)})
    return found


def symbol_histogram(results: dict, field: str) -> dict[str, int]:
    """Symbol -> number of tests, for those that stock passes: `needs` (imported) or `calls` (called on stock)."""
    table: dict[str, int] = {}
    for result in results.values():
        stock = result.get("stock")
        if stock and stock["status"] == "pass":
            for symbol in result["needs"] if field == "needs" else stock["calls"]:
                table[symbol] = table.get(symbol, 0) + 1
    return dict(sorted(table.items(), key=lambda entry: (-entry[1], entry[0])))
