"""Runs the rows of a suite: first a short trial picks each contender's best variant, then the contenders alternate, so that
whatever disturbs the machine disturbs them all."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence

from . import instructions, machine, quiet
from .model import Case, Contender, Progress, Run, Value, Variant
from .process import run_program
from .statistics import median, summary


@dataclass(frozen=True)
class Settings:
    programs: Path  # the folder of the benchmark programs
    repeats: int = 5
    quick: bool = False
    loop_rate: float = 0.0  # iterations of the work loop per cycle, the same for all
    counter: Optional[instructions.Counter] = None  # of instructions
    prefix: Sequence[str] = ()  # words before every command
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
    def __init__(self, settings: Settings, contenders: Mapping[str, Contender], progress: Progress, now: Progress = lambda text: None):
        """`progress` takes what is to stay, `now` what is being done at the moment."""
        self.settings = settings
        self.contenders = contenders
        self.progress = progress
        self.now = now

    def measure(self, cases: Sequence[Case]) -> Dict[str, Dict[str, Outcome]]:
        """Of cases that are run together (or of one alone): by case, by contender."""
        first = cases[0]
        present = [one for name, one in self.contenders.items() if any(name in case.contenders for case in cases)]
        for variant in self.contenders[first.prepared_by].variants[:1] if first.prepared_by in self.contenders else ():
            self.now(f"{first.name}: {first.prepared_by} prepares it")
            failure = self._run(first, variant, trial=True).failure
            if failure is not None:
                self.progress(f"  {first.name}: {first.prepared_by} could not prepare it: {failure}")
        outcomes = {case.name: {one.name: Outcome() for one in present if one.name in case.contenders} for case in cases}
        chosen = {one.name: self._choose([case for case in cases if one.name in case.contenders], one, outcomes) for one in present}
        runners = [name for name, variant in chosen.items() if variant is not None]
        label = first.together or first.name
        for number in range(self._rounds(first)):
            shift = number % max(1, len(runners))  # nobody is always first
            for name in runners[shift:] + runners[:shift]:
                if number == 0 or name not in first.once:
                    self.now(f"{label}: {name}, {number + 1} of {self._rounds(first)}")
                    self._one_run([case for case in cases if name in case.contenders], name, chosen[name], outcomes)
        if self.settings.counter:
            for case in cases:
                for name in runners if case.simulated or not self.settings.counter.is_slow else []:
                    if name in outcomes[case.name] and (case.sampled or case.regions > 0) and case.shown and name not in case.once:
                        self.now(f"{case.name}: {name}, instructions")
                        outcomes[case.name][name].instructions = self._instructions(case, chosen[name], outcomes[case.name][name])
        return outcomes

    def _rounds(self, case: Case) -> int:
        return case.rounds or max(3, math.ceil(self.settings.repeats * case.repeats))

    def _choose(self, cases: Sequence[Case], contender: Contender, outcomes: Mapping[str, Mapping[str, Outcome]]) -> Optional[Variant]:
        """The fastest variant of one short run each, in all the cases together; None when every one failed."""
        variants = [one for one in contender.variants if self._program_exists(cases[0], one)]
        if self.settings.quick:
            variants = [one for one in variants if one.quick] or variants
        if cases[0].fixed_variant:
            variants = variants[:1]
        if not variants:
            self.progress(f"  {cases[0].name} {contender.name}: its program is not built")
        best: Optional[Variant] = variants[0] if len(variants) == 1 else None
        trial: Dict[str, object] = {}
        for variant in variants if len(variants) > 1 else ():
            self.now(f"{cases[0].name}: {contender.name}, trying {variant.name}")
            run = self._run(cases[0], variant, trial=True)
            trial[variant.name] = run.failure or sum(float(run.record.get(case.metric, 0)) for case in cases)
            if run.failure is None and (best is None or trial[variant.name] < trial[best.name]):
                best = variant
        for case in cases:
            outcome = outcomes[case.name][contender.name]
            outcome.trial.update(trial)
            if best is None:  # or there is no program to run: then it takes no part
                outcome.failures += [f"{name}: {why}" for name, why in trial.items()]
            else:
                outcome.variant = best.name
        return best

    def _one_run(self, cases: Sequence[Case], name: str, variant: Variant, outcomes: Mapping[str, Mapping[str, Outcome]]) -> None:
        run = self._undisturbed(cases[0], variant)
        if run.failure is not None:
            self.progress(f"  {cases[0].name} {variant.name}: {run.failure}")
        for case in cases:
            outcome = outcomes[case.name][name]
            if run.failure is not None or case.metric not in run.record:
                outcome.failures.append(run.failure or f"printed no {case.metric}")
                continue
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
        if self.settings.quick or trial:
            command += case.quick
        if self.settings.patience > 0:
            quiet.wait(self.settings.patience)
        run = run_program(command, {**variant.environment, **case.environment}, timeout, None if case.program.startswith("/") else variant.runtime)
        if run.failure is None and case.metric not in run.record:
            return Run(failure=f"printed no {case.metric}")
        return run

    def _instructions(self, case: Case, variant: Variant, outcome: Outcome) -> Optional[float]:
        if not outcome.values:
            return None
        regions = case.regions or instructions.regions_for(median(outcome.values))
        if self.settings.counter.is_slow:
            regions = max(1, regions // 10)
        command = [*self._command(case, variant), *case.counted]
        few = instructions.few_of(regions)
        counts = [self.settings.counter.count([*command, "--regions", str(number)], variant.environment, case.timeout) if number else 0
                  for number in (few, regions)]
        return instructions.per_region(counts, regions - few)

    def _command(self, case: Case, variant: Variant) -> List[str]:
        rate = ["--rate", f"{self.settings.loop_rate:.9f}"] if case.needs_rate and self.settings.loop_rate > 0 else []
        bound = ["taskset", "-c", machine.processors(case.cores)] if case.cores else []
        return [*bound, *self.settings.prefix, *variant.wrapper, self._program(case, variant), *case.arguments, *variant.arguments, *rate]

    def _program(self, case: Case, variant: Variant) -> str:
        if case.program.startswith("/"):
            return case.program
        folder = self.settings.programs / case.program
        return str(folder / variant.library if variant.library else folder) + variant.suffix

    def _program_exists(self, case: Case, variant: Variant) -> bool:
        return Path(self._program(case, variant)).exists()


def values_of(outcomes: Mapping[str, Outcome], subjects: Sequence[str]) -> Dict[str, Value]:
    """The contenders that count: a subject that failed even once has no value, a peer is taken by its good runs."""
    return {name: one.summary() for name, one in outcomes.items() if one.values and not (one.failures and name in subjects)}
