"""From runs to a row of the table: medians, the best tuning, the ratio, and what went wrong."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Mapping, Optional, Sequence

from comparison.measurement import Run
from comparison.summary import compare
from harness.statistics import median

from .rounds import hung
from .settings import COMITY, DEFAULTS, Program

TOLERANCE = 1e-6  # relative: six digits; single precision sums differ behind them


@dataclass(frozen=True)
class Outcome:
    """One program under one setting. `seconds` is the median of the runs that ended well, or None."""
    seconds: Optional[float] = None
    runs: int = 0
    failed: int = 0
    hung: bool = False
    wrong: bool = False  # its results are not the reference's

    @property
    def counts(self) -> bool:
        return self.seconds is not None and not self.wrong


@dataclass(frozen=True)
class Row:
    program: Program
    outcomes: Mapping[str, Outcome]  # by setting; one that was not tried is not there
    best: Optional[str]  # the tuning with the smallest median
    remarks: Sequence[str] = field(default_factory=list)
    crashed: bool = False  # under Comity, as the stock program never did

    @property
    def ratio(self) -> Optional[float]:
        comity = self.outcomes.get(COMITY, Outcome())
        return comity.seconds / self.outcomes[self.best].seconds if self.best and comity.counts else None

    @property
    def trouble(self) -> bool:
        """Whether a run under Comity failed as the stock program does not, hung, or gave other results."""
        comity = self.outcomes.get(COMITY, Outcome())
        return not comity.counts or comity.hung or self.crashed


def reference(program: Program, runs: Mapping[str, Sequence[Run]]) -> Optional[Run]:
    """Whose results must be met: those of the defaults, or where these fail, of the first tuning that ended well."""
    for setting in (DEFAULTS, *program.tunings):
        for run in runs.get(setting, ()):
            if run.failure is None:
                return run
    return None


def outcome(runs: Sequence[Run], expected: Optional[Run]) -> Outcome:
    good = [run for run in runs if run.failure is None]
    wrong = expected is not None and any(compare(expected.results, run.results, TOLERANCE) for run in good)
    return Outcome(seconds=median([run.seconds for run in good]) if good else None, runs=len(runs), failed=len(runs) - len(good),
                   hung=any(hung(run) for run in runs), wrong=wrong)


def summarise(program: Program, runs: Mapping[str, Sequence[Run]]) -> Row:
    expected = reference(program, runs)
    outcomes = {setting: outcome(several, expected) for setting, several in runs.items()}
    usable = [setting for setting in program.tunings if outcomes.get(setting, Outcome()).counts]
    best = min(usable, key=lambda setting: outcomes[setting].seconds, default=None)
    stock = {run.failure for setting, several in runs.items() if setting != COMITY for run in several}
    crashed = any(run.failure and run.failure not in stock for run in runs.get(COMITY, ()))
    return Row(program, outcomes, best, _remarks(program, runs, outcomes, expected), crashed)


def _remarks(program: Program, runs: Mapping[str, Sequence[Run]], outcomes: Mapping[str, Outcome], expected: Optional[Run]) -> List[str]:
    lines = []
    for setting, several in runs.items():
        complaints = list(dict.fromkeys(run.failure for run in several if run.failure))
        if complaints:
            lines.append(f"`{program.name}`, {setting}: {outcomes[setting].failed} of {outcomes[setting].runs} runs failed: "
                         + "; ".join(complaints))
        if outcomes[setting].wrong:
            differences = [line for run in several if run.failure is None
                           for line in compare(expected.results, run.results, TOLERANCE)]
            lines.append(f"`{program.name}`, {setting}: other results: " + "; ".join(dict.fromkeys(differences)))
    if expected is None:
        lines.append(f"`{program.name}`: no run to compare the results with")
    return lines
