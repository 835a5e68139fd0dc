"""Runs the rows of a suite: first a short trial picks each contender's best variant, then the contenders alternate, so that
whatever disturbs the machine disturbs them all."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence

from . import instructions, quiet
from .model import Case, Contender, Progress, Run, Value, Variant
from .process import run_program
from .statistics import median, summary


@dataclass(frozen=True)
class Settings:
    build: Path
    repeats: int = 5
    quick: bool = False
    loop_rate: float = 0.0  # iterations of the work loop per cycle, the same for all
    count_instructions: bool = False
    patience: float = 3.0  # seconds to wait for a quiet moment before a run; 0: disturbed runs are not repeated either


@dataclass
class Outcome:
    """What one contender did in one case."""

    variant: str = ""
    values: List[float] = field(default_factory=list)  # of the metric, a run each, in the order of the rounds
    extra: Dict[str, List[float]] = field(default_factory=dict)
    failures: List[str] = field(default_factory=list)
    trial: Dict[str, object] = field(default_factory=dict)  # variant: its time in the trial, or why it failed
    disturbed: int = 0  # runs that others disturbed however often they were repeated
    instructions: Optional[float] = None  # per region, in user mode

    def summary(self) -> Value:
        return summary(self.values)


class Session:
    def __init__(self, settings: Settings, contenders: Mapping[str, Contender], progress: Progress):
        self.settings = settings
        self.contenders = contenders
        self.progress = progress

    def measure(self, case: Case) -> Dict[str, Outcome]:
        present = [self.contenders[name] for name in case.contenders if name in self.contenders]
        outcomes = {one.name: Outcome() for one in present}
        chosen = {one.name: self._choose(case, one, outcomes[one.name]) for one in present}
        runners = [name for name, variant in chosen.items() if variant is not None]
        for number in range(self._rounds(case)):
            shift = number % max(1, len(runners))  # nobody is always first
            for name in runners[shift:] + runners[:shift]:
                self._one_run(case, chosen[name], outcomes[name])
        if self.settings.count_instructions and case.sampled:
            for name in runners:
                outcomes[name].instructions = self._instructions(case, chosen[name], outcomes[name])
        return outcomes

    def _rounds(self, case: Case) -> int:
        return max(3, math.ceil(self.settings.repeats * case.repeats))

    def _choose(self, case: Case, contender: Contender, outcome: Outcome) -> Optional[Variant]:
        """The fastest variant of one short run each; None when every one failed."""
        variants = [one for one in contender.variants if self._program_exists(case, one)]
        if self.settings.quick:
            variants = [one for one in variants if one.quick] or variants
        if case.fixed_variant:
            variants = variants[:1]
        if len(variants) == 1:
            outcome.variant = variants[0].name
            return variants[0]
        best: Optional[Variant] = None
        for variant in variants:
            run = self._run(case, variant, trial=True)
            outcome.trial[variant.name] = run.failure or run.record[case.metric]
            if run.failure is None and (best is None or outcome.trial[variant.name] < outcome.trial[best.name]):
                best = variant
        if best is None:
            outcome.failures += [f"{name}: {why}" for name, why in outcome.trial.items()] or ["no program to run"]
            return None
        outcome.variant = best.name
        return best

    def _one_run(self, case: Case, variant: Variant, outcome: Outcome) -> None:
        run = self._undisturbed(case, variant)
        if run.failure is not None:
            outcome.failures.append(run.failure)
            self.progress(f"  {case.name} {variant.name}: {run.failure}")
            return
        outcome.values.append(float(run.record[case.metric]))
        outcome.disturbed += quiet.is_disturbed(run.others)
        for key in case.extra:
            if key in run.record:
                outcome.extra.setdefault(key, []).append(float(run.record[key]))

    def _undisturbed(self, case: Case, variant: Variant) -> Run:
        """A failure counts at once; of three disturbed runs the least disturbed one is taken. What is asked is only how much
        others ran, never how the result came out."""
        best: Optional[Run] = None
        for _ in range(3 if self.settings.patience > 0 else 1):
            run = self._run(case, variant)
            if run.failure is not None or not quiet.is_disturbed(run.others):
                return run
            if best is None or run.others < best.others:
                best = run
        return best

    def _run(self, case: Case, variant: Variant, trial: bool = False) -> Run:
        command = self._command(case, variant)
        timeout = case.timeout
        if case.sampled and trial:
            command += ["--samples", "5", "--budget-s", "0.5", "--sample-ms", "10"]
            timeout = min(timeout, 30)
        elif case.sampled and self.settings.quick:
            command += ["--samples", "9", "--budget-s", "1", "--sample-ms", "10"]
        if self.settings.patience > 0:
            quiet.wait(self.settings.patience)
        run = run_program(command, variant.environment, timeout, None if case.program.startswith("/") else variant.runtime)
        if run.failure is None and case.metric not in run.record:
            return Run(failure=f"printed no {case.metric}")
        return run

    def _instructions(self, case: Case, variant: Variant, outcome: Outcome) -> Optional[float]:
        if not outcome.values:
            return None
        regions = instructions.regions_for(median(outcome.values))
        command = self._command(case, variant)
        counts = [instructions.count([*command, "--regions", str(factor * regions)], variant.environment, case.timeout)
                  for factor in (1, 2)]
        return instructions.per_region(counts, regions)

    def _command(self, case: Case, variant: Variant) -> List[str]:
        rate = ["--rate", f"{self.settings.loop_rate:.9f}"] if case.needs_rate and self.settings.loop_rate > 0 else []
        return [*variant.wrapper, self._program(case, variant), *case.arguments, *rate]

    def _program(self, case: Case, variant: Variant) -> str:
        if case.program.startswith("/"):
            return case.program
        return str(self.settings.build / "bench" / (case.program + variant.suffix))

    def _program_exists(self, case: Case, variant: Variant) -> bool:
        return Path(self._program(case, variant)).exists()


def values_of(outcomes: Mapping[str, Outcome], subjects: Sequence[str]) -> Dict[str, Value]:
    """The contenders that count: a subject that failed even once has no value, a peer is taken by its good runs."""
    return {name: one.summary() for name, one in outcomes.items() if one.values and not (one.failures and name in subjects)}
