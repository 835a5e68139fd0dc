"""Makes sure that everything is there before the first measurement: the programs, Comity, and a Python with its packages."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Optional

OLDEST = (3, 11)
STAMP = "made-from.txt"  # in the virtual environment, written when it is complete


class NotReady(Exception):
    """Something is missing; the message says what, and what to do."""


def check_python(version: tuple = sys.version_info[:2]) -> None:
    if tuple(version) < OLDEST:
        raise NotReady("the pinned packages need Python {}.{} or newer; this is {}.{}".format(*OLDEST, *version))


def check_built(programs: Path, comity: Optional[Path]) -> None:
    for path, what in ((programs, "the demo's program"), (comity, "Comity")):
        if path is not None and not os.access(path, os.X_OK):
            raise NotReady(f"{what} is not built: there is no {path}\nbuild and run everything with: make demo")


def environment_python(folder: Path) -> Path:
    return folder / "bin" / "python"


def wanted_stamp(requirements: Path) -> str:
    return f"{sys.implementation.name} {sys.version.split()[0]} {sys.base_prefix}\n{requirements.read_text()}"


def is_complete(folder: Path, requirements: Path) -> bool:
    try:
        return (folder / STAMP).read_text() == wanted_stamp(requirements) and environment_python(folder).exists()
    except OSError:
        return False


def make_environment(folder: Path, requirements: Path, say: Callable[[str], None], command: str = "make demo") -> Path:
    """The Python of a virtual environment with exactly these packages; made anew unless a complete one is there. `command` is
    what a message recommends."""
    if is_complete(folder, requirements):
        return environment_python(folder)
    if os.environ.get("COMITY_NO_INSTALL") == "1":
        raise NotReady(f"COMITY_NO_INSTALL=1 is set, so nothing is installed, and {folder} with the packages of\n"
                       f"{requirements} is not there; to fetch them and run everything: {command}")
    say(f"making a virtual environment in {folder}")
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True)
    if made.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        raise NotReady(f"no virtual environment: {_last(made.stderr or made.stdout)}\n"
                       "on Debian this needs: apt-get install python3-venv")
    _install(environment_python(folder), requirements, say)
    (folder / STAMP).write_text(wanted_stamp(requirements))
    return environment_python(folder)


def _install(python: Path, requirements: Path, say: Callable[[str], None]) -> None:
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off",
               "--only-binary", ":all:", "--retries", "2", "--timeout", "20", "-r", str(requirements)]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout:
            lines.append(line.rstrip())
            if line.startswith("Collecting "):
                say(f"  fetching {line.split()[1]}")
            elif line.startswith("Installing "):
                say("  installing them (some seconds)")
    if pip.returncode != 0:
        complaint = next((line for line in lines if line.startswith("ERROR")), _last("\n".join(lines)))
        raise NotReady(f"pip could not install the packages: {complaint}\n"
                       "the demo fetches them once, from PyPI: it needs a network then, not later")


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "(it said nothing)"
