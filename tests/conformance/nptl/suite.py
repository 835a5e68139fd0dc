"""The list of the tests and how each is built: what glibc's own makefiles say of it (CFLAGS-, LDFLAGS-, LDLIBS-, -ENV, -ARGS)."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = ("nptl", "sysdeps/pthread")
PART = re.compile(r"mod[0-9a-z]?\d*$|aux$|-common$")
VARIABLE = re.compile(r"^(CFLAGS|LDFLAGS|LDLIBS)-([\w.-]+?)(?:\.(?:c|o|so))?\s*\+?=\s*(.*)$")
FLAG = re.compile(r"^-(f|std=|W[lw],|Wl,|rdynamic$|l)")
PREREQUISITE = re.compile(r"^\$\(objpfx\)([\w-]+)(?:\.out)?:\s*(.*)$")
# Where the makefiles compute the arguments: what they come to when the program is run where it lies.
ARGUMENTS = {"tst-cancel7": ["--command", "exec ./test"], "tst-cancelx7": ["--command", "exec ./test"], "tst-exec4": ["./test"],
             "tst-umask1": ["umask.temp"]}


@dataclass
class test_case:
    name: str
    source: Path
    flags: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)  # shared objects beside the program, by their names
    linked: list[str] = field(default_factory=list)   # those of them that it is linked with
    objects: list[str] = field(default_factory=list)  # what else it is made of
    arguments: list[str] = field(default_factory=list)
    unsupported: str = ""

    @property
    def group(self) -> str:
        return re.match(r"tst-(_?[A-Za-z]+)", self.name)[1]


def joined_lines(text: str) -> list[str]:
    return re.sub(r"\\\n\s*", " ", text).splitlines()


def read_makefiles(folder: Path) -> tuple[dict, dict, dict, dict]:
    """Flags by kind and name, the modules that a test needs, those that it is linked with, and its further objects."""
    flags: dict[tuple[str, str], list[str]] = {}
    needed: dict[str, list[str]] = {}
    linked: dict[str, list[str]] = {}
    objects: dict[str, list[str]] = {}
    for makefile in (folder / part / "Makefile" for part in FOLDERS):
        for line in joined_lines(makefile.read_text()):
            if found := VARIABLE.match(line):
                flags.setdefault((found[1], found[2]), []).extend(word for word in found[3].split() if FLAG.match(word))
            elif found := PREREQUISITE.match(line):
                modules = re.findall(r"\$\(objpfx\)([\w-]+)\.so", found[2])
                needed.setdefault(found[1], []).extend(modules)
                if ".out:" not in line:
                    linked.setdefault(found[1], []).extend(modules)
                    objects.setdefault(found[1], []).extend(re.findall(r"\$\(objpfx\)([\w-]+)\.o\b", found[2]))
    return flags, needed, linked, objects


def all_tests(folder: Path) -> list[test_case]:
    flags, needed, linked, objects = read_makefiles(folder)
    cases = []
    for source in sorted(file for part in FOLDERS for file in (folder / part).glob("tst-*.c*")):
        name = source.stem
        if source.suffix not in (".c", ".cc") or PART.search(name):
            continue
        case = test_case(name, source, flags.get(("CFLAGS", name), []), arguments=ARGUMENTS.get(name, []),
                         link=flags.get(("LDFLAGS", name), []) + flags.get(("LDLIBS", name), []),
                         modules=needed.get(name, []), linked=linked.get(name, []), objects=objects.get(name, []))
        if name.endswith("-static"):
            case.unsupported = "linked statically: no preloaded object serves it"
        cases.append(case)
    return cases
