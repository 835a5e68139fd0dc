"""The programs of the demo and the settings under which each runs."""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Tuple

SEQUENTIAL, DEFAULT, COMITY = "sequential", "default", "comity"

# What the libraries call their thread counts: the name of a knob, and the environment variable or the option that turns it.
KNOBS = {
    "OMP": "OMP_NUM_THREADS",
    "BLAS": "OPENBLAS_NUM_THREADS",
    "jobs": "--jobs",
    "TBB": "--tbb-threads",
}


@dataclass(frozen=True)
class Program:
    name: str
    title: str
    made_of: str
    command: Tuple[str, ...]
    knobs: Tuple[str, ...]  # the first changes slowest in the grid
    times_faster: float = 0.0  # than the defaults: what the project promises; 0 for nothing promised


@dataclass(frozen=True)
class Setting:
    name: str
    title: str
    arguments: Tuple[str, ...] = ()
    environment: Dict[str, str] = field(default_factory=dict, hash=False)
    under_comity: bool = False
    threads: Tuple[int, ...] = ()  # one number a knob; empty when nothing is tuned


def programs(folder: Path, build: Path, python: str) -> List[Program]:
    return [
        Program("digits", "Grouping digits", "nearest neighbours (OpenMP) alternating with PCA and eigenvectors (OpenBLAS)",
                (python, "-B", str(folder / "digits_pipeline.py")), ("OMP", "BLAS"), 2.5),
        Program("boosting", "Boosted trees, cross-validated", "joblib threads over OpenMP",
                (python, "-B", str(folder / "boosting_cv.py")), ("jobs", "OMP"), 2.5),
        Program("multifrontal", "Multifrontal QR", "oneTBB tasks over OpenBLAS (OpenMP)",
                (str(build / "demo" / "multifrontal"),), ("TBB", "OMP")),
    ]


def counts(cores: int) -> List[int]:
    """What somebody tuning by hand tries for one knob: one thread, all cores, and half of them when that is another number."""
    return sorted({1, max(1, cores // 2), cores})


def tuned(program: Program, threads: Tuple[int, ...]) -> Setting:
    arguments: List[str] = []
    environment: Dict[str, str] = {}
    for knob, count in zip(program.knobs, threads):
        if KNOBS[knob].startswith("--"):
            arguments += [KNOBS[knob], str(count)]
        else:
            environment[KNOBS[knob]] = str(count)
    title = ", ".join(f"{knob} {count}" for knob, count in zip(program.knobs, threads))
    all_one = all(count == 1 for count in threads)
    return Setting(SEQUENTIAL if all_one else "x".join(map(str, threads)), "one thread" if all_one else title,
                   tuple(arguments), environment, threads=threads)


def settings(program: Program, cores: int) -> List[Setting]:
    """Sequential first, then the defaults, the rest of the grid, and Comity. A grid point that says what the defaults do
    anyway, every knob at all cores, is left out: the defaults stand for it."""
    grid = [tuned(program, threads) for threads in itertools.product(counts(cores), repeat=len(program.knobs))
            if cores == 1 or set(threads) != {cores}]
    defaults = Setting(DEFAULT, "library defaults")
    comity = Setting(COMITY, "Comity, nothing tuned", under_comity=True)
    return [grid[0], defaults, *grid[1:], comity]
