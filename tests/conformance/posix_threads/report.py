"""Which failures are Comity's, what explains each of them, and whose the threads were; writes the page and its .json."""
from __future__ import annotations

import fnmatch
import json
from pathlib import Path

from by_reason import by_reason


def explain(name: str, known: dict) -> str:
    """The reason for a failure, or nothing: by the test's entry (a pattern) in expected.json."""
    return next((reason for pattern, reason in known["tests"].items() if fnmatch.fnmatchcase(name, pattern)), "")


def status(result: dict, of: str) -> str:
    """A test that names a function that creates threads, and created none of Comity's, has passed on Comity only if the
    expectation is known: see `without_witness`."""
    return result[of]["status"] if result.get(of) else ""


def failures(results: dict, known: dict) -> list[dict]:
    """Every test that passes on stock and not on Comity, with its reason."""
    return [{"test": name, "status": status(result, "comity"), "why": result["comity"]["why"], "explained": explain(name, known)}
            for name, result in sorted(results.items())
            if status(result, "comity") not in ("", "pass") and status(result, "stock") == "pass"]


def without_witness(results: dict) -> list[tuple[str, str]]:
    """(why, test): it passes on Comity and could create threads, but none of Comity's."""
    return [("all its threads have kernel threads of their own, as their attributes ask" if result["comity"]["threads"]
             else "it said nothing of any thread", name)
            for name, result in sorted(results.items())
            if result.get("creates") and status(result, "comity") == "pass" and "comity" not in result["comity"]["threads"]]


def stale(results: dict, known: dict) -> list[str]:
    """Entries for tests that all pass."""
    ran = {name: status(result, "comity") for name, result in results.items() if result.get("comity")}
    return [pattern for pattern in known["tests"]
            if (named := fnmatch.filter(ran, pattern)) and all(ran[name] == "pass" for name in named)]


def counts(results: dict) -> dict:
    ran = [result for result in results.values() if result.get("comity")]
    both = [result for result in ran if status(result, "stock") == status(result, "comity") == "pass"]
    return {"run": len(ran), "stock": sum(status(result, "stock") == "pass" for result in ran),
            "comity": sum(status(result, "comity") == "pass" for result in ran), "both": len(both),
            "both, witnessed": sum("comity" in result["comity"]["threads"] for result in both),
            "both, no thread created": sum(not result["creates"] for result in both),
            "unsupported": len(results) - len(ran)}


def write(results: dict, known: dict, setting: dict, title: str, target: str, file: Path):
    """`file`.md and `file`.json."""
    table, found = counts(results), failures(results, known)
    stock = [(f"{result['stock']['status']}: {result['stock']['why']}", name) for name, result in sorted(results.items())
             if result.get("stock") and result["stock"]["status"] != "pass"]
    out = [(result["unsupported"], name) for name, result in sorted(results.items()) if result.get("unsupported")]
    page = [f"# {title}", "",
            f"Made by `make {target}`; [tests/conformance](../../tests/conformance/README.md) says how. Each test is built once, "
            "and run as it is and under `comity run --posix`.", "",
            *(f"- {name}: {value}" for name, value in setting.items()), "",
            "| run | pass on stock | pass on Comity | on both | of these: threads seen to be Comity's | of these: create none | not run |",
            "|---|---|---|---|---|---|---|",
            f"| {' | '.join(str(number) for number in table.values())} |", "",
            "## Failures that are explained", "",
            *by_reason([(one["explained"], one["test"]) for one in found if one["explained"]]), "",
            "## Failures that are not explained", "",
            *by_reason([(f"{one['status']}: {one['why']}", one["test"]) for one in found if not one["explained"]]), "",
            "## What passes without a thread of Comity's", "", *by_reason(without_witness(results)), "",
            "## What fails on stock here", "", *by_reason(stock), "", "## What is not run", "", *by_reason(out)]
    file.with_suffix(".md").write_text("\n".join(page) + "\n")
    compact = {name: {"unsupported": result["unsupported"]} if result.get("unsupported") else
               {"stock": status(result, "stock"), "comity": status(result, "comity"), "threads": result["comity"]["threads"]}
               for name, result in sorted(results.items())}
    record = {"setting": setting, "counts": table, "failures": found, "tests": compact}
    file.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
