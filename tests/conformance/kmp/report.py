"""Which failures are Comity's, what explains each of them; writes docs/results/conformance-kmp.md and .json."""
from __future__ import annotations

import fnmatch
import json
from pathlib import Path

from by_reason import by_reason
from execute import LOUD


def explain(name: str, run: dict, known: dict) -> str:
    """The reason for a failure, or nothing: by Comity's own message, or by the test's entry (a pattern) in expected.json."""
    for symbol in LOUD.findall(run["output"]):
        for pattern, reason in known["symbols"].items():
            if fnmatch.fnmatchcase(symbol, pattern):
                return f"{reason} (`{symbol}`)"
    return next((reason for pattern, reason in known["tests"].items() if fnmatch.fnmatchcase(name, pattern)), "")


def failures(results: dict, known: dict) -> list[dict]:
    """Every test that passes on stock and not on Comity, with its reason."""
    return [{"test": name, "status": result["comity"]["status"], "why": result["comity"]["why"],
             "explained": explain(name, result["comity"], known)}
            for name, result in sorted(results.items())
            if result.get("comity") and result["comity"]["status"] != "pass" and result["stock"]["status"] == "pass"]


def stale(results: dict, known: dict) -> list[str]:
    """Entries for tests that all pass."""
    ran = {name: result["comity"]["status"] for name, result in results.items() if result.get("comity")}
    return [pattern for pattern in known["tests"]
            if (named := fnmatch.filter(ran, pattern)) and all(ran[name] == "pass" for name in named)]


def counts(results: dict) -> dict:
    table: dict[str, dict] = {}
    for name, result in results.items():
        row = table.setdefault(name.partition("/")[0], {"run": 0, "unsupported": 0, "stock": 0, "comity": 0, "both": 0})
        row["unsupported" if result.get("unsupported") else "run"] += 1
        passes = {library for library in ("stock", "comity") if result.get(library, {}).get("status") == "pass"}
        for library in passes:
            row[library] += 1
        row["both"] += len(passes) == 2
    return table


def write(results: dict, known: dict, setting: dict, folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    table, found = counts(results), failures(results, known)
    total = {key: sum(row[key] for row in table.values()) for key in ("run", "unsupported", "stock", "comity", "both")}
    rows = [f"| {name} | {row['run']} | {row['stock']} | {row['comity']} | {row['both']} | {row['unsupported']} |"
            for name, row in [*sorted(table.items()), ("**all**", total)]]
    stock = [(f"{result['stock']['status']}: {result['stock']['why']}", name) for name, result in sorted(results.items())
             if result.get("stock") and result["stock"]["status"] != "pass"]
    better = [name for name, result in sorted(results.items())
              if result.get("comity", {}).get("status") == "pass" and result["stock"]["status"] != "pass"]
    out = [(result["unsupported"], name) for name, result in sorted(results.items()) if result.get("unsupported")]
    page = ["# LLVM's tests of its OpenMP runtime", "",
            "Made by `make conformance-kmp`; [tests/conformance](../../tests/conformance/README.md) says how. Each test is built by clang and "
            "run as its own RUN lines say, once with Debian's libomp.so.5 in its library path and once with Comity's.", "",
            *(f"- {name}: {value}" for name, value in setting.items()), "",
            "| folder | run | pass on stock | pass on Comity | on both | unsupported |", "|---|---|---|---|---|---|", *rows, "",
            "## Failures that are explained", "",
            *by_reason([(one["explained"], one["test"]) for one in found if one["explained"]]), "",
            "## Failures that are not explained", "",
            *by_reason([(f"{one['status']}: {one['why']}", one["test"]) for one in found if not one["explained"]]), "",
            "## What fails on stock libomp here", "", *by_reason(stock), "",
            f"Of these pass on Comity: {', '.join(f'`{name}`' for name in better) or 'none'}.", "",
            "## What the suite itself rules out here", "", *by_reason(out)]
    (folder / "conformance-kmp.md").write_text("\n".join(page) + "\n")
    compact = {name: {"unsupported": result["unsupported"]} if result.get("unsupported") else
               {key: result[key]["status"] for key in ("stock", "comity") if result.get(key)} for name, result in sorted(results.items())}
    record = {"setting": setting, "counts": table, "failures": found, "tests": compact}
    (folder / "conformance-kmp.json").write_text(json.dumps(record, indent=1) + "\n")
