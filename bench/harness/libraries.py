"""Who takes part in the benchmarks of threads: Comity with each of its techniques, and the libraries whose programs were built.

Each library has programs of its own, bench/WORKLOAD/LIBRARY.cpp (or .rs, .go), so a contender is a library and some arguments.
"""
from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Dict, List, Mapping, Sequence, Tuple

from .machine import first_line
from .model import Contender, Progress, Variant
from .peers import cached_library, find_libomp, unpacked
from .process import run_program

# Name in the program, title, whether the child runs first. The first is the default one, and the subject of the suite.
TECHNIQUES: Sequence[Tuple[str, str, bool]] = (
    ("roc_l", "RoC-L", False), ("roc", "RoC", False), ("full", "Full", False), ("full_l", "Full-L", False), ("ss", "SS", False),
    ("ss_l", "SS-L", False), ("sc", "SC", False), ("stackless", "stackless", False), ("c_full", "C-Full", True),
    ("c_full_e", "C-Full-E", True), ("c_roc", "C-RoC", True), ("c_roc_e", "C-RoC-E", True), ("automatic", "automatic", False),
)
DEFAULT = TECHNIQUES[0][0]
RUN_TO_COMPLETION = ("stackless",)


def library_of(contender: str) -> str:
    """The library in whose terms a contender runs: the name of its programs."""
    if contender in ("libgomp", "libomp"):
        return "openmp"
    return contender.partition("-")[0]


def technique_contender(name: str) -> str:
    return "comity" if name == DEFAULT else f"comity-{name}"


SUBJECTS = tuple(technique_contender(name) for name, _, _ in TECHNIQUES)
YIELDING_SUBJECTS = tuple(technique_contender(name) for name, _, _ in TECHNIQUES if name not in RUN_TO_COMPLETION)

# Name, title, settings to choose from: (name, arguments, environment). The library's name is the contender's up to a dash.
LIBRARIES: Sequence[Tuple[str, str, Sequence[Tuple[str, Sequence[str], Mapping[str, str]]]]] = (
    ("call", "call through a pointer (floor)", [("only", [], {})]),
    ("serial", "serial calls (floor)", [("only", [], {})]),
    ("pthread", "pthreads", [("only", [], {})]),
    ("boost_context", "Boost.Context", [("only", [], {})]),
    ("boost_fiber", "Boost.Fiber", [("shared work", [], {}), ("work stealing", [], {"BENCH_BOOST": "stealing"})]),
    ("tbb", "oneTBB", [("only", [], {})]),
    ("rayon", "rayon", [("only", [], {})]),
    ("go", "Go", [("only", [], {})]),
    ("argobots", "Argobots", [("queues", [], {}), ("deques", [], {"BENCH_ARGOBOTS": "randws"})]),
    ("argobots-deques", "Argobots, deques", [("deques", [], {"BENCH_ARGOBOTS": "randws"})]),
    ("argobots-tasklet", "Argobots, tasklet", [("only", ["--tasklet", "1"], {})]),
    ("massivethreads", "MassiveThreads, child-first", [("only", [], {})]),
    ("massivethreads-parent-first", "MassiveThreads, parent-first", [("only", ["--parent-first", "1"], {})]),
    ("qthreads", "Qthreads", [("only", [], {})]),
    ("libfork", "libfork", [("only", [], {})]),
)


def known_techniques(folder: Path) -> List[str]:
    """Those that this build of Comity has, by its own word."""
    run = run_program([str(folder / "forkjoin" / "comity"), "--technique", "list"], {}, 20)
    return str(run.record.get("techniques", "")).split() if run.record else []


def comity_contenders(folder: Path) -> List[Contender]:
    titles = {name: title for name, title, _ in TECHNIQUES}
    found = [Contender(technique_contender(name), f"Comity, {titles.get(name, name)}",
                       [Variant(name, library="comity", arguments=["--technique", name])]) for name in known_techniques(folder)]
    pair = run_program([str(folder / "fib" / "comity"), "--pair", "1", "--n", "2"], {}, 20)
    if pair.failure is None:
        found.append(Contender("comity-pair", "Comity, join(f, g)", [Variant("pair", library="comity", arguments=["--pair", "1"])]))
    return found


def openmp_contenders(folder: Path) -> List[Contender]:
    libomp = sorted(find_libomp(unpacked(folder)).items())[:1]  # the installed one, which clang's binary is linked with
    return [Contender("libgomp", "libgomp tasks", [Variant("default", library="openmp", runtime=cached_library("libgomp.so.1"))]),
            *(Contender("libomp", "libomp tasks", [Variant(f"version {version}", library="openmp", suffix="-clang", runtime=path)])
              for version, path in libomp)]


def program_name(contender: Contender) -> str:
    return contender.variants[0].library + contender.variants[0].suffix


def is_built(folder: Path, contender: Contender) -> bool:
    return any(path.is_file() for path in folder.glob(f"*/{program_name(contender)}"))


def report_absent(folder: Path, absent: Sequence[str], progress: Progress) -> None:
    """Says which of the libraries were not there when the build was configured, and which were only not built."""
    listed = folder / "not_found.txt"
    not_found = listed.read_text().split() if listed.exists() else []
    for what, names in (("not found when the build was configured", [name for name in absent if name in not_found]),
                        ("not built (build the target bench_programs)", [name for name in absent if name not in not_found])):
        if names:
            progress(f"{what}: {', '.join(names)}")


def all_contenders(_build: Path, folder: Path, _download: bool, progress: Progress) -> Dict[str, Contender]:
    """Every contender whose programs were built, by name."""
    others = [Contender(name, title, [Variant(setting, environment, library=library_of(name), arguments=arguments)
                                      for setting, arguments, environment in settings]) for name, title, settings in LIBRARIES]
    candidates = [*comity_contenders(folder), *others[:5], *openmp_contenders(folder), *others[5:]]
    found = {one.name: one for one in candidates if is_built(folder, one)}
    report_absent(folder, sorted({program_name(one) for one in candidates if one.name not in found}), progress)
    return found


def versions(repository: Path) -> Dict[str, str]:
    """Of the peers, for the page's conditions."""
    lock = repository / "bench" / "support" / "rayon" / "Cargo.lock"
    rayon = re.search(r'name = "rayon"\nversion = "([^"]+)"', lock.read_text()) if lock.exists() else None
    debian = {name: first_line(["dpkg-query", "-W", "-f", "${Version}", package])
              for name, package in (("Boost", "libboost-fiber-dev"), ("oneTBB", "libtbb-dev"), ("libgomp", "libgomp1"), ("libomp", "libomp-dev"))}
    go = first_line(["go", "version"]).split()[2:3] if shutil.which("go") else []
    others = {"Go": go[0].removeprefix("go") if go else "", "rayon": rayon.group(1) if rayon else "",
              "rustc": (first_line(["rustc", "--version"]).split() + ["", ""])[1],
              **{name: first_line(["pkg-config", "--modversion", package]) for name, package in (("Argobots", "argobots"), ("Qthreads", "qthread"))}}
    return {"peers": ", ".join(f"{name} {version}" for name, version in {**debian, **others}.items() if version)}
