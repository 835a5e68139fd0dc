"""Which failures are Comity's and what explains each of them; writes docs/results/conformance-python.md and .json."""
from __future__ import annotations

import fnmatch
import json
from pathlib import Path


def explain(name: str, known: dict) -> str:
    return next((reason for pattern, reason in known["tests"].items() if fnmatch.fnmatchcase(name, pattern)), "")


def failures(results: dict, known: dict) -> list[dict]:
    """Every test that passes on stock and not on Comity, where it may be missing: its module has not come to an end."""
    found = []
    for module in results.values():
        for name, status in module["stock"]["tests"].items():
            here = module["comity"]["tests"].get(name, f"not run: {module['comity']['why']}")
            if status == "pass" and here != "pass":
                found.append({"test": name, "status": here, "explained": explain(name, known)})
    return found


def number(tests: dict, status: str) -> int:
    return sum(one == status for one in tests.values())


def counts(results: dict) -> dict:
    stock = {name: status for module in results.values() for name, status in module["stock"]["tests"].items()}
    comity = {name: status for module in results.values() for name, status in module["comity"]["tests"].items()}
    return {"run": len(stock), "pass on stock": number(stock, "pass"), "pass on Comity": number(comity, "pass"),
            "pass on both": sum(status == comity.get(name) == "pass" for name, status in stock.items()),
            "skipped on stock": number(stock, "skip")}


def write(results: dict, known: dict, setting: dict, folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    table, found = counts(results), failures(results, known)
    explained = [one for one in found if one["explained"]]
    others = [one for one in found if not one["explained"]]
    failed = sorted(name for module in results.values() for name, status in module["stock"]["tests"].items() if status == "fail")
    page = ["# Python's own tests of threads", "",
            "Made by `make conformance-python`; [tests/conformance](../../tests/conformance/README.md) says how. Each module is run as it is "
            "and under `comity run --posix`, where the interpreter's threads were seen to be Comity's.", "",
            *(f"- {name}: {value}" for name, value in setting.items()), "",
            f"| {' | '.join(table)} |", "|---|---|---|---|---|", f"| {' | '.join(str(n) for n in table.values())} |", "",
            "| module | tests | pass on stock | pass on Comity | seconds | on Comity |", "|---|---:|---:|---:|---:|---:|",
            *(f"| `{name}` | {len(of['stock']['tests'])} | {number(of['stock']['tests'], 'pass')} | {number(of['comity']['tests'], 'pass')} "
              f"| {of['stock']['seconds']} | {of['comity']['seconds']} |"
              for name, of in sorted(results.items())), "",
            "## Failures that are explained", "",
            *([f"- `{one['test']}`: {one['explained']}" for one in explained] or ["None."]), "",
            "## Failures that are not explained", "",
            *([f"- `{one['test']}`: {one['status']}" for one in others] or ["None."]), "",
            "## What fails on stock here", "", ", ".join(f"`{name}`" for name in failed) or "None."]
    (folder / "conformance-python.md").write_text("\n".join(page) + "\n")
    compact = {name: {"stock": of["stock"]["status"], "comity": of["comity"]["status"], "seconds": [of["stock"]["seconds"], of["comity"]["seconds"]]} for name, of in sorted(results.items())}
    record = {"setting": setting, "counts": table, "failures": found, "modules": compact}
    (folder / "conformance-python.json").write_text(json.dumps(record, indent=1) + "\n")
