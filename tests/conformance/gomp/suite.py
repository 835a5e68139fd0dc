"""The list of libgomp's tests: the same files, languages and options as its own c.exp, c++.exp and fortran.exp choose."""
from __future__ import annotations

from pathlib import Path

from directives import reader, test_case
from targets import target

LANGUAGES = ("c", "c++", "fortran")
COMMON = "libgomp.c-c++-common"
# gfortran's own levels. Comity is the same under all; a shorter list that still meets every test is the default.
TORTURE = ("-O0", "-O1", "-O2", "-O3 -fomit-frame-pointer -funroll-loops -fpeel-loops -ftracer -finline-functions", "-O3 -g", "-Os")
USUAL = ("-O0", "-O2")
FORTRAN = {".f", ".f90", ".f95", ".f03", ".f08"}


def _case(name: str, language: str, source: Path, variant: str, machine: target) -> test_case:
    defaults = [] if language == "fortran" else ["-O2"]
    return reader(test_case(name + (f" {variant}" if variant else ""), language, source, variant), machine, defaults).read()


def _c_like(testsuite: Path, language: str, suffix: str):
    machine = target(language)
    own = testsuite / f"libgomp.{language}"
    for source in sorted(own.rglob(f"*{suffix}")):
        yield _case(f"{language}/{source.relative_to(own)}", language, source, "", machine)
    for source in sorted((testsuite / COMMON).rglob("*.c")):
        yield _case(f"{language}/common/{source.relative_to(testsuite / COMMON)}", language, source, "", machine)


def _fortran(testsuite: Path, levels: tuple[str, ...]):
    machine, own = target("fortran"), testsuite / "libgomp.fortran"
    for source in sorted(own.rglob("*")):
        if source.suffix.lower() not in FORTRAN:
            continue
        runs = "dg-do run" in source.read_text(errors="replace")
        for level in levels if runs else ("-O",):
            yield _case(f"fortran/{source.relative_to(own)}", "fortran", source, level, machine)


def all_tests(testsuite: Path, levels: tuple[str, ...] = USUAL) -> list[test_case]:
    return [*_c_like(testsuite, "c", ".c"), *_c_like(testsuite, "c++", ".C"), *_fortran(testsuite, levels)]
