"""A server in a folder of its own: started, asked, and ended, whatever happens meanwhile."""
from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Type

TICK = os.sysconf("SC_CLK_TCK")
UNPRIVILEGED = "nobody"  # most of the servers refuse to be root's
# Debian installs programs of administrators outside the PATH of other users.
SEARCHED = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))])


class Failure(Exception):
    """Why there is no result: one line."""


def program(name: str) -> str:
    found = shutil.which(name, path=SEARCHED)
    if found is None:
        raise Failure(f"{name} is not installed")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def last_line(file: Path) -> str:
    lines = file.read_text(errors="replace").strip().splitlines() if file.exists() else []
    return f": {lines[-1][:200]}" if lines else ""


def processes_of(session: int) -> Iterator[List[str]]:
    """The fields of /proc/PID/stat after the name, of each process of the session."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[3]) == session:
                yield [folder.name, *fields]


class Server:
    """Runs as an unprivileged user where the caller is root, in a session of its own and a temporary folder."""

    patience = 10.0  # seconds from SIGTERM to SIGKILL

    def __init__(self, wrapper: Sequence[str]):
        self.wrapper = list(wrapper)  # words before the server's command
        self.folder = Path(tempfile.mkdtemp(prefix="comity-bench-"))
        self.port = free_port()
        self.child: Optional[subprocess.Popen] = None
        self.user: Dict[str, object] = {}
        if os.getuid() == 0:
            owner = pwd.getpwnam(UNPRIVILEGED)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self.user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, text: str) -> Path:
        file = self.path(name)
        file.write_text(text)
        file.chmod(0o644)
        return file

    def prepare(self, command: Sequence[str], timeout: float = 60) -> None:
        """Runs a command of the server's to its end, never under the wrapper."""
        with open(self.path("prepare.log"), "wb") as log:
            done = subprocess.run([program(command[0]), *command[1:]], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=timeout, **self.user)
        if done.returncode != 0:
            raise Failure(f"{command[0]} failed{last_line(self.path('prepare.log'))}")

    def start(self, command: Sequence[str], is_ready: Callable[[], bool], timeout: float = 30) -> None:
        with open(self.path("server.log"), "wb") as log:
            self.child = subprocess.Popen([*self.wrapper, program(command[0]), *command[1:]], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          start_new_session=True, **self.user)
        end = time.monotonic() + timeout
        while not is_ready():
            if self.child.poll() is not None or time.monotonic() > end:
                raise Failure(f"{command[0]} does not answer{last_line(self.path('server.log'))}")
            time.sleep(0.02)
        self._check_who_answers()

    def accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def cpu_seconds(self) -> float:
        """Of all processes of the server, and of those of their children that have ended."""
        own = [[int(number) for number in fields[12:16]] for fields in processes_of(self.child.pid)]
        return sum(sum(four) for four in own) / TICK

    def _check_who_answers(self) -> None:
        """A run proves who serves the threads."""
        for fields in processes_of(self.child.pid):
            is_comitys = "libcomity_threads" in Path("/proc", fields[0], "maps").read_text()
            if is_comitys != bool(self.wrapper):
                raise Failure(f"process {fields[0]} is served by {'Comity' if is_comitys else 'the C library'}")

    def end(self) -> None:
        """SIGTERM to the first process, and SIGKILL to what is left of the session after a few seconds."""
        if self.child is None:
            return
        self.child.terminate()
        end = time.monotonic() + self.patience
        while time.monotonic() < end and self.child.poll() is None:
            time.sleep(0.02)
        self.kill_session(self.child.pid)
        self.child.wait()
        self.child = None

    @staticmethod
    def kill_session(session: int) -> None:
        """Until there is nothing of it but what waits to be reaped: one that was killed may have started another."""
        while running := [int(fields[0]) for fields in processes_of(session) if fields[1] not in "ZX"]:
            for process in running:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)


def ask(command: Sequence[str], timeout: float = 60, wrapper: Sequence[str] = ()) -> str:
    """Runs a client to its end; returns what it has printed."""
    done = subprocess.run([*wrapper, program(command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        lines = text.strip().splitlines()
        raise Failure(f"{command[0]} failed" + (f": {lines[-1][:200]}" if lines else ""))
    return text
