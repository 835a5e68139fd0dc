"""The runs of the study, in turns: every round runs each program once under each of its settings."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Sequence

from comparison.measurement import Run, command_line, measure

from .settings import COMITY, DEFAULTS, TUNINGS, Program, settings

Runs = Dict[str, List[Run]]  # of one program, by the name of the setting


@dataclass(frozen=True)
class Plan:
    programs: Sequence[Program]
    folder: Path  # of the programs
    python: Path
    comity: Path
    rounds: int
    limit: float  # seconds that one process may take
    try_all: bool
    say: Callable[[str], None]
    run: Callable[..., Run] = measure


def hung(run: Run) -> bool:
    return bool(run.failure) and run.failure.startswith("no end within")


def enough(setting: str, runs: Sequence[Run]) -> bool:
    """One hang is enough to know, and one run of the defaults that ended well: some take a hundred times as long as the rest. A crash
    may be one of luck."""
    return any(hung(run) or setting == DEFAULTS and run.failure is None for run in runs)


def carry_out(plan: Plan) -> Dict[str, Runs]:
    found: Dict[str, Runs] = {program.name: {} for program in plan.programs}
    for number in range(plan.rounds):
        for program in plan.programs:
            for setting in settings(program, number, plan.try_all):
                runs = found[program.name].setdefault(setting, [])
                if enough(setting, runs):
                    continue
                runs.append(_one_run(plan, program, setting))
                told = runs[-1].failure or f"{runs[-1].seconds:.2f} s"
                plan.say(f"round {number + 1}/{plan.rounds}  {program.name}, {setting}: {told}")
    return found


def _one_run(plan: Plan, program: Program, setting: str) -> Run:
    command = [str(plan.python), str(plan.folder / f"{program.name}.py")]
    under = plan.comity if setting == COMITY else None
    return plan.run(command_line(under, command, ()), TUNINGS.get(setting, {}), plan.limit)
