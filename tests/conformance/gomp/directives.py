"""Reads the DejaGnu directives of one test file and says how to build it, run it and judge it."""
from __future__ import annotations

import fnmatch
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from targets import target
from tcl import parse_list

DIRECTIVE = re.compile(r"\{[ \t]+(dg-[-a-z]+[ \t]+.*)[ \t]+\}")  # DejaGnu's own: one to a line, greedy
# What these check is the compiler (its diagnostics, its dumps) or the tidiness of the source tree, not the run-time library.
OF_THE_COMPILER = {"dg-final", "dg-warning", "dg-bogus", "dg-prune-output", "dg-excess-errors", "dg-require-alias",
                   "dg-add-options", "dg-message"}


@dataclass
class test_case:
    """One test in one variant. unsupported is the reason why it is out, or empty."""
    name: str
    language: str
    source: Path
    variant: str = ""
    kind: str = "compile"  # DejaGnu's default is set by libgomp's suite: run
    options: list[str] = field(default_factory=list)
    more_sources: list[Path] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    timeout: float = 0.0  # 0: the runner's
    timeout_factor: float = 1.0
    should_fail: bool = False
    compile_error: bool = False  # the compiler must refuse it
    may_fail: bool = False       # an xfail that holds here
    outputs: list[str] = field(default_factory=list)
    unsupported: str = ""


def directives_of(text: str):
    for line in text.splitlines():
        found = DIRECTIVE.search(line)
        if found:
            words = parse_list(found[1])
            yield words[0], words[1:]


def _applies(machine: target, selector: str) -> tuple[str, bool]:
    """(`target` or `xfail`, whether it holds) for a selector like `{ target EXPRESSION }`."""
    keyword, _, expression = selector.strip().partition(" ")
    if keyword not in ("target", "xfail"):
        raise ValueError(f"selector {selector!r} is neither target nor xfail")
    return keyword, machine.selected(expression)


class reader:
    """Fills a test_case, directive by directive."""

    def __init__(self, case: test_case, machine: target, default_options: list[str]):
        self.case_, self.machine_ = case, machine
        self.options_ = default_options
        self.additional_: list[str] = []

    def read(self) -> test_case:
        self.case_.kind = "run"
        for name, words in directives_of(self.case_.source.read_text(errors="replace")):
            if name in OF_THE_COMPILER:
                continue
            handler = getattr(self, name.replace("-", "_"), None)
            if handler is None:
                raise ValueError(f"{self.case_.source}: {name} is not known to directives.py")
            handler(*words)
        variant = shlex.split(self.case_.variant)
        self.case_.options = [option for option in variant + self.options_ + self.additional_
                              if not option.startswith(("-fdump-", "-foffload"))]
        return self.case_

    def _out(self, why: str):
        self.case_.unsupported = self.case_.unsupported or why

    def dg_do(self, what: str, selector: str = "target *-*-*"):
        self.case_.kind = what
        keyword, holds = _applies(self.machine_, selector)
        if keyword == "target" and not holds:
            self._out(f"dg-do {what} only for {selector.strip()}")

    def dg_options(self, options: str, selector: str = "target *-*-*"):
        if _applies(self.machine_, selector)[1]:
            self.options_ = shlex.split(options)

    def dg_additional_options(self, options: str, selector: str = "target *-*-*"):
        if _applies(self.machine_, selector)[1]:
            self.additional_ += shlex.split(options)

    def dg_additional_sources(self, names: str):
        self.case_.more_sources += [self.case_.source.parent / name for name in names.split()]

    def dg_require_effective_target(self, name: str):
        if not self.machine_.has(name):
            self._out(f"needs {name}")

    def dg_skip_if(self, why: str, selector: str, include: str = "*", exclude: str = ""):
        """Skipped if the target matches, an option matches include, and none matches exclude."""
        def matches(patterns: str) -> bool:
            options = f" {self.case_.variant} "
            return any(pattern == "*" or fnmatch.fnmatchcase(options, f"* {pattern} *") for pattern in parse_list(patterns))
        if self.machine_.selected(selector) and matches(include) and not matches(exclude):
            self._out(f"dg-skip-if: {why or selector.strip()}")

    def dg_set_target_env_var(self, name: str, value: str):
        self.case_.environment[name] = value

    def dg_timeout(self, seconds: str):
        self.case_.timeout = float(seconds)

    def dg_timeout_factor(self, factor: str):
        self.case_.timeout_factor = float(factor)

    def dg_shouldfail(self, _why: str = ""):
        self.case_.should_fail = True

    def dg_output(self, pattern: str):
        self.case_.outputs.append(pattern)

    def dg_error(self, _pattern: str, _comment: str = "", selector: str = "target *-*-*", _line: str = ""):
        keyword, holds = _applies(self.machine_, selector)
        self.case_.compile_error |= keyword == "target" and holds

    def dg_xfail_if(self, _why: str, selector: str, *_options: str):
        self.case_.may_fail |= self.machine_.selected(selector)

    dg_xfail_run_if = dg_xfail_if
