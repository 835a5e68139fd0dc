"""The runs of a whole comparison, in turns: every round runs each setting of each program once, each round starting elsewhere."""
from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from harness import quiet

from .measurement import Run, command_line, measure
from .programs import Program, Setting


@dataclass
class Outcome:
    program: Program
    settings: List[Setting]
    runs: Dict[str, List[Run]] = field(default_factory=dict)


@dataclass
class Plan:
    programs: Sequence[Tuple[Program, List[Setting]]]
    comity: Path
    repeats: int
    run_limit: float  # seconds that one process may take
    time_limit: float  # no round is begun that would end later, after the second
    say: Callable[[str], None]
    patience: float = 1.0  # seconds to wait for other processes to be quiet, before each run
    clock: Callable[[], float] = time.monotonic
    run: Callable[..., Run] = measure
    wait: Callable[[float], object] = quiet.wait


def rotated(settings: Sequence[Setting], by: int) -> List[Setting]:
    by %= len(settings)
    return [*settings[by:], *settings[:by]]


def carry_out(plan: Plan) -> List[Outcome]:
    outcomes = [Outcome(program, settings, {setting.name: [] for setting in settings}) for program, settings in plan.programs]
    begin = plan.clock()
    for number in range(plan.repeats):
        spent = plan.clock() - begin
        if number >= 2 and spent * (number + 1) / number > plan.time_limit:
            plan.say(f"round {number + 1} of {plan.repeats} would end after {plan.time_limit:.0f} s: stopping here")
            break
        for outcome in outcomes:
            _one_round(plan, outcome, number)
    return outcomes


def _one_round(plan: Plan, outcome: Outcome, number: int) -> None:
    told = []
    for setting in rotated(outcome.settings, number):
        failed = [run for run in outcome.runs[setting.name] if run.failure]
        if failed:
            continue  # once is enough to know; a second hang would only cost the time of the others
        command = command_line(plan.comity if setting.under_comity else None, outcome.program.command, setting.arguments)
        run = _one_run(plan, command, setting)
        outcome.runs[setting.name].append(run)
        told.append(f"{setting.title} {'FAILED' if run.failure else f'{run.seconds:.2f} s'}")
    plan.say(f"round {number + 1}/{plan.repeats} {outcome.program.name}: {'; '.join(told)}")


def _one_run(plan: Plan, command: Sequence[str], setting: Setting) -> Run:
    """Beside a busy neighbour whoever spins looks far worse than he is. So a run that had one is repeated once, whatever it
    measured, and the less disturbed one counts."""
    best: Optional[Run] = None
    for _ in range(2 if plan.patience else 1):
        if plan.patience:
            plan.wait(plan.patience)
        run = plan.run(command, setting.environment, plan.run_limit)
        if run.failure or not quiet.is_disturbed(run.others):
            return run
        if best is None or run.others < best.others:
            best = run
    return best
