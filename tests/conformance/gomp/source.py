"""Fetches Debian's source package of gcc-12 and unpacks libgomp from it.

The machine's list of package sources is left alone: apt runs with directories of its own below the cache, and with a
source list made from the machine's mirrors with `deb` turned into `deb-src`.
"""
from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path

PACKAGE = "gcc-12"
# What the tests see: their own files (and one of OpenACC's, which an OpenMP test includes), libgomp's private headers,
# gomp-constants.h.
WANTED = re.compile(r"^[^/]+/(libgomp/(testsuite/libgomp\.((c|c\+\+|c-c\+\+-common|fortran)/|oacc-fortran/pr90030)|[^/]*\.h$)"
                    r"|include/gomp-constants\.h$)")
MIRROR = re.compile(r"^\s*deb\s+(\[[^]]*\]\s+)?(\S*debian\S*)\s+(\S+)\s+(.*)$")
# libgomp's configure would have made it; affinity-1.c reads this of it.
CONFIG = "#define HAVE_PTHREAD_AFFINITY_NP 1\n"


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


def _run(command: list[str], folder: Path):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise source_error(f"{' '.join(command)} failed ({done.returncode}):\n{done.stdout}")


def _version() -> str:
    """Of the installed compiler: its own tests are the right ones for the code that it emits."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}", PACKAGE], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0 or not done.stdout:
        raise source_error(f"the Debian package {PACKAGE} is not installed")
    return done.stdout


def _fetch(cache: Path, version: str) -> Path:
    """The original tarball of that version, or of the mirror's newest if that one is gone."""
    folder = cache / "package"
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("*.orig.tar.*")):
        apt = _apt(cache)
        print(f"gomp: fetching the sources of {PACKAGE} {version} (90 MB, once)", flush=True)
        _run([*apt, "update"], folder)
        try:
            _run([*apt, "source", "--download-only", f"{PACKAGE}={version}"], folder)
        except source_error:
            _run([*apt, "source", "--download-only", PACKAGE], folder)
    return next(iter(folder.glob("*.orig.tar.*")))


def _unpack(package: Path, folder: Path):
    """The original tarball holds gcc's own, which holds libgomp."""
    with tarfile.open(package) as outer:
        inner = next((member for member in outer if re.search(r"/gcc-[^/]*\.tar\.\w+$", member.name)), None)
        if inner is None:
            raise source_error(f"{package} holds no gcc-*.tar.*")
        with tarfile.open(fileobj=outer.extractfile(inner), mode="r|*") as tree:
            for member in tree:
                if member.isfile() and WANTED.match(member.name):
                    target = folder / member.name.partition("/")[2]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(tree.extractfile(member).read())


def libgomp_sources(cache: Path) -> Path:
    """The folder with `libgomp/` and `include/` of Debian's gcc-12; fetched and unpacked on first use."""
    version = _version()
    folder, done = cache / "source", cache / "source" / "version"
    if not done.exists():
        package = _fetch(cache, version)
        print(f"gomp: unpacking {package.name}", flush=True)
        _unpack(package, folder)
        (folder / "generated").mkdir(parents=True, exist_ok=True)
        (folder / "generated" / "config.h").write_text(CONFIG)
        done.write_text(package.name.removesuffix(".orig.tar.gz") + "\n")
    return folder
