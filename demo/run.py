#!/usr/bin/env python3
"""Three unmodified programs under their libraries' defaults, the best hand tuning, and Comity: a table, a picture, a page.

Every round runs each program once under each setting, so that a slow minute of the machine hits all of them. The exit
status is 1 when a run failed or its results were not those of the sequential program; a missed bar is only printed."""
from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import time
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
sys.path[:0] = [str(HERE), str(REPOSITORY / "bench")]

from comparison import page, plot, preparation, programs, session, table  # noqa: E402
from comparison.arguments import whole_number  # noqa: E402
from harness import machine, report  # noqa: E402

ENVIRONMENT = HERE / ".venv"
REQUIREMENTS = HERE / "requirements.txt"
SHOWN_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl")


def arguments(given=None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="PROGRAM", choices=["digits", "boosting", "multifrontal"],
                        help="digits, boosting or multifrontal; may be given several times")
    parser.add_argument("--repeats", type=whole_number, default=5, metavar="N", help="rounds (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round: a first look, no statistics")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "build" / "demo", metavar="DIR",
                        help="where demo.json, demo.png and demo.html go (default: build/demo)")
    parser.add_argument("--publish", action="store_true", help="copy the results into docs/ too, for the README")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release", metavar="DIR",
                        help="what was built (default: build/release)")
    parser.add_argument("--comity", type=Path, metavar="FILE", help="the comity to use (default: bin/comity of the build)")
    parser.add_argument("--time-limit", type=float, default=180, metavar="S",
                        help="begin no round, after the second, that would end later (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=1, metavar="S",
                        help="wait so long for other processes to be quiet before a run, and repeat a disturbed one once; 0: neither "
                        "(default: %(default)s)")
    parser.add_argument("--run-limit", type=float, default=60, metavar="S", help="kill a run after this (default: %(default)s)")
    return parser.parse_args(given)


def say(line: str) -> None:
    print(line, flush=True)


def continue_in_environment() -> None:
    """This process becomes the same one under the virtual environment's Python, which has the plotting library."""
    preparation.check_python()
    if Path(sys.prefix) == ENVIRONMENT:
        return
    python = preparation.make_environment(ENVIRONMENT, REQUIREMENTS, say)
    sys.stdout.flush()
    os.execv(python, [str(python), "-B", str(HERE / "run.py"), *sys.argv[1:]])


def conditions(repeats: int) -> dict:
    version = {name: machine.first_line(["dpkg-query", "-W", "-f", "${Version}", name])
               for name in ("libopenblas0-openmp", "libtbb12", "libgomp1")}
    return {
        "machine": machine.computer(),
        "system": machine.system(),
        "python": f"{platform.python_version()}, " + ", ".join(f"{name} {metadata.version(name)}" for name in SHOWN_PACKAGES),
        "libraries": ", ".join(f"{name} {number}" for name, number in version.items() if number),
        "commit": machine.commit(REPOSITORY),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load average at the start": machine.load_average(),
        "repeats": str(repeats),
    }


def write(folder: Path, outcomes, stated, cores: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "demo.json").write_text(json.dumps(table.as_data(outcomes, stated, cores), indent=1) + "\n")
    drawing = folder / "demo.svg"
    drawn = plot.draw([folder / "demo.png", drawing], outcomes, stated, cores)
    (folder / "demo.html").write_text(page.page(outcomes, stated, cores, drawing.read_text() if drawn else ""))
    drawing.unlink(missing_ok=True)  # it is inside the page
    say(f"\nwritten to {folder}: demo.html, demo.png, demo.json")


def publish(folder: Path) -> None:
    page_of_numbers = REPOSITORY / "docs" / "performance.md"
    section = table.as_markdown(json.loads((folder / "demo.json").read_text()))
    page_of_numbers.write_text(report.replace_section(page_of_numbers.read_text(), "demo", section, "demo/run --publish"))
    say(f"published {page_of_numbers.relative_to(REPOSITORY)}")
    for name, place in (("demo.png", "docs/images"), ("demo.json", "docs/results")):
        target = REPOSITORY / place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, target)
        say(f"published {target.relative_to(REPOSITORY)}")


def compare(options: argparse.Namespace) -> int:
    comity = (options.comity or options.build / "bin" / "comity").resolve()
    preparation.check_built(options.build / "demo" / "multifrontal", comity)
    continue_in_environment()
    cores = len(os.sched_getaffinity(0))
    repeats = 1 if options.quick else options.repeats
    chosen = [(program, programs.settings(program, cores))
              for program in programs.programs(HERE, options.build.resolve(), sys.executable)
              if not options.only or program.name in options.only]
    stated = conditions(repeats)
    say(f"{stated['machine']}; up to {repeats} rounds of {sum(len(settings) for _, settings in chosen)} runs")
    begin = time.monotonic()
    outcomes = session.carry_out(session.Plan(chosen, comity, repeats, options.run_limit, options.time_limit, say,
                                              options.patience))
    stated["repeats"] = str(max(len(runs) for outcome in outcomes for runs in outcome.runs.values()))
    stated["measured for"] = f"{time.monotonic() - begin:.0f} s"
    say("\n" + table.as_text(outcomes, cores))
    write(options.output.resolve(), outcomes, stated, cores)
    bad = table.trouble(outcomes)
    if bad:
        say("\nNOT VALID:\n" + "\n".join(f"  {line}" for line in bad))
        return 1
    say("the results are the same under every setting")
    if options.publish:
        publish(options.output.resolve())
    return 0


def main() -> int:
    options = arguments()
    try:
        return compare(options)
    except preparation.NotReady as problem:
        print(f"demo: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ndemo: interrupted, nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
