"""Fetches source packages of Debian.

The machine's list of package sources is left alone: apt runs with directories of its own below the cache, and with a
source list made from the machine's mirrors with `deb` turned into `deb-src`.
"""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

MIRROR = re.compile(r"^\s*deb\s+(\[[^]]*\]\s+)?(\S*debian\S*)\s+(\S+)\s+(.*)$")


class source_error(RuntimeError):
    """The sources could not be had; the message says why."""


def source_list(configured: Path = Path("/etc/apt")) -> dict[str, str]:
    """File name -> text: the machine's Debian mirrors as source repositories; Debian's own server if there are none."""
    files = {}
    for file in sorted((configured / "sources.list.d").glob("*.sources")):
        stanzas = re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", file.read_text()))
        debian = [re.sub(r"(?m)^Types:.*$", "Types: deb-src", stanza) for stanza in stanzas
                  if re.search(r"(?m)^URIs:.*debian", stanza) and not re.search(r"(?mi)^Enabled:\s*no", stanza)]
        if debian:
            files[file.name] = "\n\n".join(stanza.strip() for stanza in debian) + "\n"
    lines = []
    for file in [configured / "sources.list", *sorted((configured / "sources.list.d").glob("*.list"))]:
        found = map(MIRROR.match, file.read_text().splitlines()) if file.exists() else []
        lines += [f"deb-src {entry[1] or ''}{entry[2]} {entry[3]} {entry[4]}" for entry in found if entry]
    if lines or not files:
        files["mirrors.list"] = "\n".join(lines or ["deb-src http://deb.debian.org/debian bookworm main"]) + "\n"
    return files


def _apt(cache: Path) -> list[str]:
    apt = cache / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "sources.list.d"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    for name, text in source_list().items():
        (apt / "sources.list.d" / name).write_text(text)
    return ["apt-get", "-q", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={apt}/sources.list.d",
            "-o", f"Dir::State::Lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache", "-o", "APT::Sandbox::User=root"]


def _run(command: list[str], folder: Path, show: bool = False):
    """`show`: the command's own progress is for the user."""
    done = subprocess.run(command, cwd=folder, stdout=None if show else subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise source_error(f"{' '.join(command)} failed ({done.returncode}):\n{done.stdout or 'see above'}")


def installed_version(package: str) -> str:
    """The source version of an installed package: its own tests are the right ones for it."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}", package], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0 or not done.stdout:
        raise source_error(f"the Debian package {package} is not installed")
    return done.stdout


def fetch(cache: Path, package: str, version: str, who: str, size: str) -> Path:
    """The original tarball of that version of a source package, or of the mirror's newest if that one is gone. `who` fetches
    it, of about `size`."""
    folder = cache / "package"
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("*.orig.tar.*")):
        apt = _apt(cache)
        print(f"{who}: fetching the sources of {package} {version} ({size}, once)", flush=True)
        _run([*apt, "update"], folder)
        try:
            _run([*apt, "source", "--download-only", f"{package}={version}"], folder, show=True)
        except source_error:
            _run([*apt, "source", "--download-only", package], folder, show=True)
    return next(iter(folder.glob("*.orig.tar.*")))
