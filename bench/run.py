#!/usr/bin/env python3
"""Runs Comity's benchmarks against their peers, alternating in one run, and reports medians, ratios and bars."""
from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Dict, List, NoReturn, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import curves, figures, instructions, libraries, machine, peers, plot, registry_posix, registry_servers, report  # noqa: E402
from harness.bars import wording  # noqa: E402
from harness.model import Case, Contender, Suite  # noqa: E402
from harness.process import run_program  # noqa: E402
from harness.registry import CORES, SUITES  # noqa: E402
from harness.registry_scaling import SCALING_SUITES  # noqa: E402
from harness.session import Session, Settings  # noqa: E402

# Of each suite: who takes part, and what is worth knowing of their versions.
CONTENDERS = {"nested": peers.all_contenders, "threads": libraries.all_contenders, "omptasks": peers.tasks_contenders,
              "ompsync": peers.tasks_contenders, "npb": peers.lasting_contenders, "fftw": peers.compilers_contenders,
              "figures": peers.series_contenders, "posix": registry_posix.contenders, "scaling-threads": libraries.all_contenders,
              "scaling-openmp": peers.newest_contenders, "scaling-posix": registry_posix.contenders, "servers": registry_servers.contenders}
# Plots beside that of the bars.
CURVES = {"threads": curves.draw, "figures": figures.draw_thesis, "fftw": figures.draw_fftw, "posix": figures.draw_posix,
          **{name: partial(figures.draw_scaling, SUITES[name]) for name in SCALING_SUITES}}
REPOSITORY = Path(__file__).resolve().parent.parent
BEGIN = time.monotonic()


class NowLine:
    """What is being done, on standard error: on a terminal one line that is written over, else, if asked for, a line each."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty()
        self.is_asked_for = False

    def show(self, text: str) -> None:
        if self.is_terminal:
            print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)
        elif self.is_asked_for:
            print(f"{elapsed()} {text}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


NOW = NowLine()


def elapsed() -> str:
    return f"[{time.monotonic() - BEGIN:6.1f} s]"


def say(text: str) -> None:
    NOW.clear()
    print(f"{elapsed()} {text}", flush=True)


def name_of_command(arguments: Sequence[str]) -> str:
    """How the user called us: `comity bench` says its name in front of all others."""
    return arguments[1] if arguments[:1] == ["--called-as"] and len(arguments) > 1 else "bench/run"


def suites_of(text: str) -> List[Suite]:
    names = list(SUITES) if text == "all" else text.split(",")
    for name in names:
        if name not in SUITES:
            raise argparse.ArgumentTypeError(f"no suite {name}; there are: {', '.join(SUITES)}")
    return [SUITES[name] for name in names]


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=name_of_command(arguments), description=__doc__, epilog="The page docs/performance.md, its plot and "
                                     "docs/results/ are rewritten by a whole run only (or by --write).")
    parser.add_argument("--suite", type=suites_of, default="nested", metavar="A,B", help=f"which suites, of {', '.join(SUITES)}, or all "
                        "(default: %(default)s)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="cases whose name contains TEXT; may be repeated")
    parser.add_argument("--contenders", metavar="A,B", help="these contenders only")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="runs of each contender and case (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="3 repeats, short samples, fewer stock settings tried")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release", metavar="DIR",
                        help="build folder (default: build/release)")
    parser.add_argument("--programs", type=Path, metavar="DIR", help="folder of the benchmark programs (default: BUILD/bench)")
    parser.add_argument("--called-as", default="bench/run", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there as well")
    parser.add_argument("--from", type=Path, action="append", default=[], dest="files", metavar="FILE", help="measure nothing and show what --json wrote, on "
                        "another machine perhaps; several files of one suite are put together; with --write for the page")
    parser.add_argument("--write", action=argparse.BooleanOptionalAction, help="rewrite the page, plot and results, or do not")
    parser.add_argument("--no-download", action="store_true", help="do not fetch a second version of libomp to compare with")
    parser.add_argument("--patience", type=float, default=3, metavar="S", help="seconds to wait for a quiet machine before each run; "
                        "0: neither wait nor repeat disturbed runs (default: %(default)s)")
    parser.add_argument("--prefix", type=shlex.split, default=[], metavar="COMMAND", help="words to put before every program, as "
                        "in --prefix 'taskset -c 2,3'")
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a bar is missed (goals do not count)")
    parser.add_argument("--progress", action="store_true", help="say on standard error what is being run, also where that is no terminal")
    parser.add_argument("--list", action="store_true", help="list the cases with their bars, and stop")
    given = parser.parse_args(arguments)
    given.programs = given.programs or given.build / "bench"
    if given.repeats < 1:
        parser.error("--repeats: not a whole number above 0")
    if given.quick:
        given.repeats = min(given.repeats, 3)
    return given


def fail(text: str) -> NoReturn:
    sys.exit(f"{name_of_command(sys.argv[1:])}: {text}")


def select(suite: Suite, texts: Sequence[str], quick: bool) -> List[Case]:
    chosen = [case for case in suite.cases if not texts or any(text in case.name for text in texts)]
    return [case for case in chosen if case.cores <= CORES and (case.quick_too or not quick)]


def without_absent(cases: Sequence[Case]) -> List[Case]:
    """Without the rows of which a server or a client is not installed."""
    for name, programs in {case.together or case.name: registry_servers.missing(case) for case in cases}.items():
        if programs:
            say(f"{name}: left out, since {' and '.join(programs)} {'is' if len(programs) == 1 else 'are'} not installed (make bench-servers)")
    return [case for case in cases if not registry_servers.missing(case)]


def print_list(suite: Suite) -> None:
    for case in suite.cases:
        if not case.shown:
            continue
        print(f"{case.name:18} {case.title}")
        for bar in case.bars:
            who = "" if bar.who == suite.subject else f"{bar.who}: "
            print(f"{'':20} {'goal' if bar.source == 'anchor' else 'bar '} {who}{wording(bar, case.unit)}")


def restrict(contenders: Dict[str, Contender], wanted: str) -> Dict[str, Contender]:
    names = wanted.split(",")
    unknown = [name for name in names if name not in contenders]
    if unknown:
        fail(f"no contender {', '.join(unknown)}; there are: {', '.join(contenders)}")
    return {name: one for name, one in contenders.items() if name in names}


def calibrate(programs: Path) -> float:
    """The fastest of a few: the machine is shared, and a slow try would give every contender too little work."""
    rates = [run.record["iterations_per_cycle"] for run in (run_program([str(programs / "support" / "rate")], {}, 20) for _ in range(5))
             if run.failure is None]
    return max(rates, default=0.0)


def measure_transfer(programs: Path) -> List[float]:
    """How long a cache line takes from core to core now; nothing where there is only one core."""
    run = run_program([str(programs / "support" / "transfer")], {}, 20)
    return [run.record["ns"]] if run.failure is None else []


def run_together(cases: Sequence[Case]) -> List[List[Case]]:
    groups: Dict[str, List[Case]] = {}
    for case in cases:
        groups.setdefault(f"together {case.together}" if case.together else case.name, []).append(case)
    return list(groups.values())


def measure_all(session: Session, suite: Suite) -> Tuple[report.Results, List[float]]:
    """What the cases gave, and a cache line's time before each row."""
    results: report.Results = {}
    transfers: List[float] = []
    groups = run_together(suite.cases)
    for number, group in enumerate(groups, 1):
        transfers += measure_transfer(session.settings.programs)
        title = suite.name_of(group[0]) if len(group) == 1 else f"{group[0].group}: {len(group)} rows"
        say(f"{number}/{len(groups)} {title}")
        results.update(session.measure(group))
        for case in group:
            for name, outcome in results[case.name].items() if case.shown else ():
                setting = f" [{outcome.variant}]" if outcome.trial else ""
                row = f"{case.title}: " if len(group) > 1 else ""
                say(f"    {row}{session.contenders[name].title}{setting}: {report.cell(outcome)} {case.unit}")
    return results, transfers


def write_documents(suite: Suite, contenders: Dict[str, Contender], results: report.Results, conditions: Dict[str, str]) -> None:
    images = REPOSITORY / "docs" / "images"
    caption = f"{conditions['machine']}; {conditions['date']}; medians"
    drawn = [f"{suite.name}.png"] if suite.has_dots and plot.draw(images / f"{suite.name}.png", suite, contenders, results, caption) else []
    if suite.name in CURVES:
        drawn += CURVES[suite.name](images, contenders, results, caption)
    if not drawn:
        say("no plot: python3-matplotlib is missing, or there is nothing to draw")
    section = report.markdown_report(suite, contenders, results, conditions, [f"images/{name}" for name in drawn])
    for path in report.write_files(REPOSITORY, suite, section, report.as_json(suite, results, conditions)):
        say(f"wrote {path}")


def conditions_of(suite: Suite, programs: Path, rate: float, repeats: int) -> Dict[str, str]:
    if suite.name in ("threads", "scaling-threads"):
        return {**machine.conditions(REPOSITORY, [], rate, repeats), **libraries.versions(REPOSITORY)}
    return machine.conditions(REPOSITORY, sorted(peers.find_libomp(peers.unpacked(programs))), rate, repeats)


def read_measured(files: Sequence[Path]) -> Tuple[report.Results, Dict[str, str]]:
    """The results of all files, and the conditions of the first."""
    results: report.Results = {}
    conditions: Dict[str, str] = {}
    for file in files:
        try:
            more, its = report.from_json(file.read_text())
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            fail(f"--from {file}: not what --json writes: {error}")
        for name, outcomes in more.items():
            results.setdefault(name, {}).update(outcomes)
        conditions = conditions or its
    return results, conditions


def show_measured(suite: Suite, given: argparse.Namespace) -> int:
    """As run_suite, with what was measured before."""
    results, conditions = read_measured(given.files)
    shown = replace(suite, cases=[case for case in suite.cases if case.name in results])
    if not shown.cases:
        fail(f"--from: nothing there is of the suite {suite.name}")
    here = CONTENDERS[suite.name](given.build.resolve(), given.programs.resolve(), False, say)
    absent = [name for outcomes in results.values() for name in outcomes if name not in here]  # they were built there
    contenders = {**here, **{name: Contender(name, name, []) for name in absent}}
    print("\n" + report.terminal_report(shown, contenders, results))
    if given.write:
        write_documents(shown, contenders, results, conditions)
    return report.tally(shown, results).get("issue", {}).get("MISS", 0)


def run_suite(suite: Suite, given: argparse.Namespace) -> int:
    """Returns how many bars were missed."""
    if given.files:
        return show_measured(suite, given)
    if CORES < suite.least_cores:
        say(f"{suite.name}: left out, since it needs {suite.least_cores} cores and this process may use {CORES}")
        return 0
    cases = select(suite, given.only, given.quick)
    if not cases:
        fail(f"no case for {CORES} cores matches {given.only}; see --list")
    cases = without_absent(cases)
    if not cases:
        return 0
    build, programs = given.build.resolve(), given.programs.resolve()
    contenders = CONTENDERS[suite.name](build, programs, not given.no_download, say)
    if given.contenders:
        contenders = restrict(contenders, given.contenders)
    rate = calibrate(programs) if any(case.needs_rate for case in cases) else 0.0
    conditions = conditions_of(suite, programs, rate, given.repeats)
    for line in machine.as_lines(conditions):
        print(line)
    settings = Settings(programs, given.repeats, given.quick, rate, instructions.find_counter(), given.prefix, given.patience)
    if not settings.counter:
        say("perf may not count instructions here, and valgrind is not installed, so they are left out")
    shown = replace(suite, cases=cases)
    results, transfers = measure_all(Session(settings, contenders, say, NOW.show), shown)
    NOW.clear()
    between_cores = {"a cache line from core to core": machine.describe_transfers(transfers)}
    conditions.update(between_cores)
    for line in machine.as_lines(between_cores):
        print(line)

    print("\n" + report.terminal_report(shown, contenders, results))
    if given.json:
        given.json.write_text(report.as_json(shown, results, conditions))
    whole = not given.only and not given.quick and not given.contenders
    if given.write or (given.write is None and whole):
        write_documents(shown, contenders, results, conditions)
    return report.tally(shown, results).get("issue", {}).get("MISS", 0)


def main(arguments: Sequence[str]) -> int:
    given = read_arguments(arguments)
    NOW.is_asked_for = given.progress
    suites = given.suite
    if given.list:
        for suite in suites:
            print_list(suite)
        return 0
    if not given.programs.is_dir():
        fail(f"{given.programs} is missing; build first: cmake --build {given.build} --target bench_programs")
    missed = sum(run_suite(suite, given) for suite in suites)
    return 1 if given.strict and missed else 0


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
