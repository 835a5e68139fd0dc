"""The words of the registry: a suite holds cases; a case is run by contenders; a contender is the best of its variants; a bar
says what one contender must reach against another."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional, Sequence


@dataclass(frozen=True)
class Variant:
    """One way to run a contender: an environment, a command in front, another binary of the same source."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    wrapper: Sequence[str] = ()
    suffix: str = ""  # of the program's name: "-clang" is the binary for libomp's own ABI
    library: str = ""  # the program is WORKLOAD/LIBRARY: each library has its own; "": one program for all
    arguments: Sequence[str] = ()  # after the case's own
    runtime: Optional[str] = None  # the file that must answer OpenMP calls; None: not checked
    quick: bool = True  # tried by --quick too


@dataclass(frozen=True)
class Contender:
    """A runtime in the comparison. Several variants: the fastest of a short trial represents it."""

    name: str
    title: str
    variants: Sequence[Variant]


@dataclass(frozen=True)
class Value:
    """What one contender reached in one case: the median of its runs with their spread."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Bar:
    """A demand on `who`. `kind` is a key of KINDS in bars.py; `limit` its bound; `peer` whom it is measured against: a name, or
    a pattern with * for the best of those that match."""

    kind: str
    limit: float
    peer: Optional[str] = None
    who: str = "comity"
    source: str = "issue"  # or "anchor": what the best other runtime reaches or a figure from another machine, taken as a goal
    case: Optional[str] = None  # the row of the same suite that the peer's value is taken from; None: the bar's own


@dataclass(frozen=True)
class Case:
    """One row of the table. The program prints one JSON line; `metric` is the key in it that counts, the lower the better."""

    name: str
    title: str
    group: str  # rows of one group share a table
    program: str  # below build/PRESET/bench, or an absolute path
    arguments: Sequence[str] = ()
    contenders: Sequence[str] = ("libgomp", "libomp", "comity", "comity-preload")
    metric: str = "us"
    unit: str = "µs"
    bars: Sequence[Bar] = ()
    extra: Sequence[str] = ()  # further keys worth showing
    repeats: float = 1  # times --repeats: noisy rows ask for more
    needs_rate: bool = False  # gets --rate, the calibrated speed of the work loop
    sampled: bool = True  # understands --samples, --budget-s and --regions
    fixed_variant: bool = False  # no trial: the first variant is taken
    timeout: float = 120
    together: str = ""  # cases that share this share their processes: one record holds the metrics of all of them
    shown: bool = True  # False: drawn, and in the JSON, but not in the table
    rounds: int = 0  # above zero: exactly so many, for what does not vary
    prepared_by: str = ""  # a contender that runs it once before the others: what that leaves beside the program is for all
    once: Sequence[str] = ()  # contenders that are too slow to run in more than one round
    quick: Sequence[str] = ()  # further arguments under --quick
    quick_too: bool = True  # False: left out by --quick
    regions: int = 0  # above zero: it understands --regions, and so many are enough for a count of instructions
    counted: Sequence[str] = ()  # arguments for that count
    simulated: bool = False  # it is counted also where that takes fifty times as long
    environment: Mapping[str, str] = field(default_factory=dict)  # over a variant's
    cores: int = 0  # above zero: the process may use so many


@dataclass(frozen=True)
class Suite:
    """Cases that share a table, a plot and a file under docs/results."""

    name: str
    title: str
    cases: Sequence[Case]
    baseline: str = "libgomp"  # the plot and the ratios are drawn against it
    subject: str = "comity"
    explanation: str = ""  # what a reader of the page must know; an empty line parts paragraphs
    contenders_as_rows: bool = False  # of the tables: for suites of many contenders
    least_cores: int = 1  # of a machine that the suite makes sense on
    has_dots: bool = True  # a plot of each row's ratios; False: its curves say it all

    def name_of(self, case: Case) -> str:
        """Its title, with its table's where others have the same."""
        return case.title if sum(one.title == case.title for one in self.cases) == 1 else f"{case.group}: {case.title}"


def is_subject(contender: str) -> bool:
    """Whether it is one of ours: what we promise is judged of these."""
    return contender.startswith("comity")


@dataclass
class Run:
    """One process: its record, or why there is none."""

    record: Optional[dict] = None
    failure: Optional[str] = None
    others: Optional[float] = None  # cores that other processes took meanwhile; None: not known


Progress = Callable[[str], None]
