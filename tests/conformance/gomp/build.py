"""Builds a test with Debian's gcc-12, g++-12 or gfortran-12, once: the program is kept and serves every run-time library."""
from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from directives import test_case

COMPILERS = {"c": ["gcc-12"], "c++": ["g++-12"], "fortran": ["gfortran-12"]}
# The suite's own flags, plus: no devices; and lazy binding, so that the dynamic linker's log of bindings is one of calls.
ALWAYS = ["-fmessage-length=0", "-fno-diagnostics-show-caret", "-fdiagnostics-color=never", "-fopenmp", "-foffload=disable",
          "-Wl,-z,lazy"]
COMPILE_SECONDS = 300
LIBGOMP_SYMBOL = re.compile(r" U (\w+)@(?:OMP|GOMP|OACC|GOACC)_[\w.]+$", re.MULTILINE)


@dataclass
class program:
    """path is None if the compiler refused; needs are the symbols of libgomp that it imports."""
    path: Path | None
    log: str
    key: str
    needs: list[str]


def folder_name(case: test_case) -> str:
    return re.sub(r"[^\w.+-]+", "_", case.name)


def _command(case: test_case, sources: Path, output: Path) -> list[str]:
    libgomp = sources / "libgomp"
    includes = [f"-I{sources / 'include'}", f"-I{libgomp}", f"-I{sources / 'generated'}", f"-I{case.source.parent}"]
    language = ["-x", "c++"] if case.language == "c++" else []
    mode = ["-c"] if case.kind == "compile" else []
    files = [str(file) for file in [case.source, *case.more_sources]]
    return [*COMPILERS[case.language], *ALWAYS, *includes, *case.options, *mode, *language, *files,
            *(["-x", "none"] if language else []), *([] if mode else ["-lm", "-o", str(output)])]


def _needs(path: Path) -> list[str]:
    listed = subprocess.run(["nm", "-D", "-u", "--with-symbol-versions", str(path)], stdout=subprocess.PIPE, text=True)
    return sorted(set(LIBGOMP_SYMBOL.findall(listed.stdout)))


def build(case: test_case, sources: Path, cache: Path, compiler_version: str) -> program:
    """Compiles unless the same command of the same compiler has been done; a refusal to build what should run is tried again."""
    folder = cache / "programs" / folder_name(case)
    output, record = folder / "test", folder / "build.json"
    command = _command(case, sources, output)
    key = hashlib.sha1(json.dumps([command, compiler_version]).encode()).hexdigest()
    if record.exists():
        kept = json.loads(record.read_text())
        if kept["key"] == key and (kept["ok"] or case.kind != "run"):
            return program(output if kept["ok"] else None, kept["log"], key, kept["needs"])
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                              env={**os.environ, "LC_ALL": "C"}, timeout=COMPILE_SECONDS, text=True)
        ok, log = done.returncode == 0, done.stdout.replace(f"{sources}/", "")[-4000:]
    except subprocess.TimeoutExpired:
        ok, log = False, f"the compiler took more than {COMPILE_SECONDS} s"
    for left in folder.glob("*.o"):
        left.unlink()
    needs = _needs(output) if ok and case.kind == "run" else []
    record.write_text(json.dumps({"key": key, "ok": ok, "log": log, "needs": needs, "command": command}))
    return program(output if ok else None, log, key, needs)
