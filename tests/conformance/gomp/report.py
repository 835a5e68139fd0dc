"""Writes docs/results/conformance-gomp.md and .json."""
from __future__ import annotations

import json
from pathlib import Path

from by_reason import by_reason
from suite import LANGUAGES
from verdict import counts, expectations, failures, group, symbol_histogram


def _table(results: dict) -> list[str]:
    lines = ["| language | run | stock: pass | fail | timeout | Comity: pass | fail | timeout | never called | compile only | "
             "unsupported | skipped |", "|" + "---|" * 12]
    for language in LANGUAGES:
        row = counts(results, language)
        cells = [row["run"], *(row["stock"][key] for key in ("pass", "fail", "timeout")),
                 *(row["comity"][key] for key in ("pass", "fail", "timeout", "never called")),
                 row["compile"], row["unsupported"], row["skip"]]
        lines.append("| " + " | ".join([language, *map(str, cells)]) + " |")
    return lines


def _failing(results: dict, known: expectations) -> list[str]:
    found = failures(results, known)
    explained = [(one["explained"], one["test"]) for one in found if one["explained"]]
    rest = [(f"{one['status']}: {one['why']}", one["test"]) for one in found if not one["explained"]]
    return ["## Failures that are explained", "", *by_reason(explained), "", "## Failures that are not explained", "",
            *by_reason(rest)]


def _elsewhere(results: dict) -> list[str]:
    stock = [(f"{result['stock']['status']}: {result['stock']['why']}", name) for name, result in sorted(results.items())
             if result.get("stock") and result["stock"]["status"] != "pass"]
    out = [(result["unsupported"], name) for name, result in sorted(results.items()) if group(result) == "unsupported"]
    skipped = [(result["skip"], name) for name, result in sorted(results.items()) if group(result) == "skip"]
    refused = [(result["compile"], name) for name, result in sorted(results.items())
               if group(result) == "compile" and result["compile"] != "pass"]
    return ["## What fails on stock libgomp here", "", *by_reason(stock), "",
            "## What the suite itself rules out here", "", *by_reason(out), "",
            "## What could not be built", "", *by_reason(skipped), "",
            "## Compile-only tests that the compiler fails", "", *by_reason(refused)]


def write(results: dict, known: expectations, setting: dict, folder: Path):
    """setting: what was run where, as shown at the top of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    page = ["# libgomp's own test suite", "",
            "Made by `make conformance-gomp`; [tests/conformance](../../tests/conformance/README.md) says how. "
            "Comity's drop-in is preloaded into the same programs that ran on stock libgomp.", "",
            *(f"- {name}: {value}" for name, value in setting.items()), "", *_table(results), "",
            "`never called`: the program passed or failed without a call into the run-time library, as the dynamic linker's log "
            "of bindings shows; it says nothing about Comity. `compile only`: the test ends with the compiler.", "",
            *_failing(results, known), "", *_elsewhere(results)]
    (folder / "conformance-gomp.md").write_text("\n".join(page) + "\n")
    compact = {name: {"group": group(result), **{key: result[key]["status"] for key in ("stock", "comity") if result.get(key)}}
               for name, result in sorted(results.items())}
    record = {"setting": setting, "counts": {language: counts(results, language) for language in LANGUAGES},
              "failures": failures(results, known), "symbols_imported": symbol_histogram(results, "needs"), "tests": compact}
    (folder / "conformance-gomp.json").write_text(json.dumps(record, indent=1) + "\n")
