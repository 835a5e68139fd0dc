"""The list of the tests and what each asks: the directives of LLVM's lit (RUN, REQUIRES, UNSUPPORTED, XFAIL), and the substitutions
that the suite's lit.cfg defines."""
from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

LLVM = Path("/usr/lib/llvm-14")
# What lit.cfg finds out about clang 14 on a Linux machine of more than one core.
FEATURES = {"clang", "clang-14", "clang-14.0", "clang-14.0.6", "linux", "affinity", "multicpu", "ompt"}
# All features that the tests of this version name; another one is an error, not a guess.
KNOWN = re.compile(r"^(gcc|clang|icc)(-[\d.]+)?$|^(linux|netbsd|affinity|multicpu|ompt|hwloc|powerpc|gnu|abt|windows|darwin)$")
DIRECTIVE = re.compile(r"(RUN|REQUIRES|UNSUPPORTED|XFAIL):(.*)$")
SUFFIXES = {".c", ".cpp"}
LIBS = " -lm -latomic"


@dataclass
class test_case:
    name: str
    source: Path
    lines: list[str] = field(default_factory=list)  # the RUN lines, joined where they continue
    unsupported: str = ""
    should_fail: bool = False

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]


def _features(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if not KNOWN.match(name):
            raise ValueError(f"feature {name!r}")
    return names


def read(case: test_case) -> test_case:
    continues = False
    for line in case.source.read_text(errors="replace").splitlines():
        found = DIRECTIVE.search(line)
        if not found:
            continue
        kind, text = found[1], found[2].strip()
        if kind == "RUN":
            if continues:
                case.lines[-1] = case.lines[-1][:-1] + text
            else:
                case.lines.append(text)
            continues = text.endswith("\\")
        elif kind == "REQUIRES":
            missing = [name for name in _features(text) if name not in FEATURES]
            case.unsupported = case.unsupported or (f"requires {', '.join(missing)}" if missing else "")
        elif any(name in FEATURES for name in _features(text)):
            if kind == "XFAIL":
                case.should_fail = True
            else:
                case.unsupported = f"not for {text}"
    return case


def script(case: test_case, folder: Path) -> str:
    """What a shell is to run; its files go into `folder`."""
    root = case.source
    while root.name != "test":
        root = root.parent
    flags = f"-I {root} -I {root}/ompt -L {LLVM}/lib"
    table = [("%libomp-compile-and-run", "%libomp-compile && %libomp-run"),
             ("%libomp-c99-compile-and-run", "%libomp-c99-compile && %libomp-run"),
             ("%libomp-cxx-compile-and-run", "%libomp-cxx-compile && %libomp-run"),
             ("%libomp-cxx-compile-c", "%clangXX %openmp_flags %flags -std=c++14 -x c++ %s -o %t" + LIBS),
             ("%libomp-cxx-compile", "%clangXX %openmp_flags %flags -std=c++14 %s -o %t" + LIBS),
             ("%libomp-compile", "%clang %openmp_flags %flags %s -o %t" + LIBS),
             ("%libomp-c99-compile", "%clang %openmp_flags %flags -std=c99 %s -o %t" + LIBS),
             ("%libomp-run", "%t"), ("%clangXX", f"{LLVM}/bin/clang++ -w"), ("%clang", f"{LLVM}/bin/clang -w"),
             ("%openmp_flags", "-fopenmp"), ("%flags-use-compiler-omp-h", flags), ("%flags", flags),
             ("%python", sys.executable), ("%not", f"{LLVM}/bin/not"), ("%sort-threads", "sort -n -s"),
             ("%preload-tool", "env LD_PRELOAD=%T/tool.so"), ("%no-as-needed-flag", "-Wl,--no-as-needed"),
             ("FileCheck", f"tee %t.out | {LLVM}/bin/File\0Check"),
             ("%s", str(case.source)), ("%S", str(case.source.parent)), ("%t", f"{folder}/test"), ("%T", str(folder))]
    commands = []
    for line in case.lines:
        for name, text in table:
            line = re.sub(re.escape(name) + (r"\b" if name[-1].isalpha() else ""), lambda _, text=text: text, line)
        if "%" in re.sub(r"%[.\d{]|%[A-Za-z](?=[\s,':}\"]|$)", "", line) and "OMP_AFFINITY_FORMAT" not in line:
            raise ValueError(f"{case.name}: a substitution is not known: {line}")
        commands.append(line.replace("\0", ""))
    return "set -o pipefail; " + " && ".join(f"{{ {command}; }}" for command in commands)


def all_tests(folder: Path) -> list[test_case]:
    sources = [file for file in sorted(folder.rglob("*")) if file.suffix in SUFFIXES]
    cases = [read(test_case(str(file.relative_to(folder)), file)) for file in sources]
    return [case for case in cases if case.lines]
