"""From runs to medians, and from medians to what is claimed: same results, and the bars."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from harness import quiet
from harness.statistics import median

from .measurement import Run
from .programs import COMITY, DEFAULT, SEQUENTIAL, Program, Setting

TOLERANCE = 1e-8  # relative: sums of another order differ in their last digits, wrong results by far more

TUNED_AT_MOST = 1.05  # times the best hand tuning
EXTRA_RUNNABLE = 1.0  # kernel threads beyond one a core


@dataclass(frozen=True)
class Measured:
    """Medians over the runs that did not fail; of the seconds also the fastest and the slowest."""
    runs: int
    seconds: float
    fastest: float
    slowest: float
    wall: float
    cpu: float
    switches: float
    peak_threads: float
    runnable: float
    disturbed: bool


@dataclass(frozen=True)
class Verdict:
    text: str
    passed: bool


def summarise(runs: Sequence[Run]) -> Optional[Measured]:
    good = [run for run in runs if run.failure is None]
    if not good:
        return None
    seconds = [run.seconds for run in good]
    others = [run.others for run in good if run.others is not None]
    return Measured(
        runs=len(good), seconds=median(seconds), fastest=min(seconds), slowest=max(seconds),
        wall=median([run.wall for run in good]), cpu=median([run.cpu for run in good]),
        switches=median([run.switches for run in good]), peak_threads=median([run.peak_threads for run in good]),
        runnable=median([run.runnable for run in good]), disturbed=bool(others) and quiet.is_disturbed(median(others)))


def best_tuning(settings: Sequence[Setting], measured: Mapping[str, Measured]) -> Optional[Setting]:
    """The fastest of the grid by its median. One thread everywhere is a point of the grid: it, too, is found by tuning."""
    grid = [setting for setting in settings if setting.threads and setting.name in measured]
    return min(grid, key=lambda setting: measured[setting.name].seconds, default=None)


def differences(runs: Mapping[str, Sequence[Run]]) -> List[str]:
    """Where a run's results are not those of the first sequential one."""
    reference = next((run for run in runs.get(SEQUENTIAL, ()) if run.failure is None), None)
    if reference is None:
        return ["no sequential run to compare the results with"]
    found = []
    for name, several in runs.items():
        for run in several:
            if run.failure is None:
                found += [f"{name}: {line}" for line in compare(reference.results, run.results)]
    return list(dict.fromkeys(found))


def compare(expected: Mapping[str, float], got: Mapping[str, float], tolerance: float = TOLERANCE) -> List[str]:
    lines = []
    for key in sorted(expected.keys() | got.keys()):
        if key not in expected or key not in got:
            lines.append(f"{key} is printed by only one of them")
        elif not math.isclose(expected[key], got[key], rel_tol=tolerance):
            lines.append(f"{key} is {got[key]:.12g} instead of {expected[key]:.12g}")
    return lines


def failures(runs: Mapping[str, Sequence[Run]]) -> List[str]:
    return list(dict.fromkeys(f"{name}: {run.failure}" for name, several in runs.items() for run in several if run.failure))


def judge(program: Program, settings: Sequence[Setting], measured: Mapping[str, Measured], cores: int) -> List[Verdict]:
    """The bars of the project, as far as there are numbers for them."""
    comity, default, best = measured.get(COMITY), measured.get(DEFAULT), best_tuning(settings, measured)
    if comity is None:
        return []
    verdicts = []
    if best is not None:
        ratio = comity.seconds / measured[best.name].seconds
        verdicts.append(Verdict(f"{ratio:.2f} times the best hand tuning (at most {TUNED_AT_MOST:g})", ratio <= TUNED_AT_MOST))
    if default is not None and program.times_faster:
        ratio = default.seconds / comity.seconds
        verdicts.append(Verdict(f"{ratio:.1f} times faster than the defaults (at least {program.times_faster:g})",
                                ratio >= program.times_faster))
    most = cores + EXTRA_RUNNABLE
    verdicts.append(Verdict(f"{comity.runnable:.1f} runnable kernel threads on average (at most {most:g})", comity.runnable <= most))
    return verdicts


def shown(settings: Sequence[Setting], measured: Mapping[str, Measured]) -> List[Tuple[str, str, Measured]]:
    """The four rows that the table and the picture show: (setting's name, title, medians). What could not be measured is left out."""
    best = best_tuning(settings, measured)
    by_name: Dict[str, Setting] = {setting.name: setting for setting in settings}
    rows = [(SEQUENTIAL, "one thread"), (DEFAULT, "library defaults")]
    if best is not None:
        rows.append((best.name, f"best hand tuning ({by_name[best.name].title})"))
    rows.append((COMITY, "Comity, nothing tuned"))
    return [(name, title, measured[name]) for name, title in rows if name in measured]
