"""Where the Open POSIX tests are, which there are, and how each is built: conformance/interfaces/FUNCTION/[speculative/]N-M.c."""
from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from debian_source import fetch, source_error
from posix_threads.execute import compile_with

PACKAGE, VERSION = "posixtestsuite", "1.5.2-8"
UNSUPPORTED, UNTESTED = 4, 5  # exit statuses; 1 is a failure, 2 one before the point of the test
INTERFACES = Path("conformance/interfaces")
FUNCTION = re.compile(r"^(pthread|sem)_")
TEST = re.compile(r"^\d+-\d+(-buildonly)?$")
CALL = re.compile(r"\b(\w+) ?\(")
FLAGS = ["-std=gnu99", "-O2", "-w", "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700"]
LIBRARIES = ["-pthread", "-lrt", "-lm"]


@dataclass
class test_case:
    name: str
    source: Path
    arguments: list[str] = field(default_factory=list)
    unsupported: str = ""


def debians(cache: Path) -> tuple[Path, str]:
    """Those of Debian's source package; fetched and unpacked on first use."""
    folder = cache / "source" / PACKAGE
    if not folder.exists():
        package = fetch(cache, PACKAGE, VERSION, "openposix", "1 MB")
        with tarfile.open(package) as tree:
            tree.extractall(folder.parent, filter="data")
    return folder, f"Debian's {PACKAGE} {VERSION}"


def given(folder: Path) -> tuple[Path, str]:
    if not (folder / INTERFACES).is_dir():
        raise source_error(f"{folder} has no folder {INTERFACES}; --suite wants the Linux Test Project's testcases/open_posix_testsuite")
    return folder.resolve(), "the Linux Test Project's open_posix_testsuite"


def why_not(source: Path) -> str:
    if source.stem.endswith("-buildonly"):
        return "is only to be compiled"
    if "clock_settime" in CALL.findall(source.read_text(errors="replace")):
        return "sets the machine's clock"
    return ""


def all_tests(folder: Path) -> list[test_case]:
    cases = []
    for function in sorted((folder / INTERFACES).iterdir()):
        if not FUNCTION.match(function.name):
            continue
        for source in sorted(function.rglob("*.c")):
            if TEST.match(source.stem):
                name = str(source.relative_to(folder / INTERFACES).with_suffix(""))
                cases.append(test_case(name, source, unsupported=why_not(source)))
    return cases


def build(case: test_case, folder: Path, target: Path) -> Path:
    program = target / "test"
    if not program.exists():
        target.mkdir(parents=True, exist_ok=True)
        common = [str(file) for file in [folder / "lib" / "common.c"] if file.exists()]
        compile_with(["gcc", *FLAGS, f"-I{folder / 'include'}", str(case.source), *common, "-o", "test", *LIBRARIES], target)
    return program
