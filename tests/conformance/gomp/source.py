"""Fetches Debian's source package of gcc-12 and unpacks libgomp from it."""
from __future__ import annotations

import re
import tarfile
from pathlib import Path

from debian_source import fetch, installed_version, source_error, source_list  # noqa: F401

PACKAGE = "gcc-12"
# What the tests see: their own files (and one of OpenACC's, which an OpenMP test includes), libgomp's private headers,
# gomp-constants.h.
WANTED = re.compile(r"^[^/]+/(libgomp/(testsuite/libgomp\.((c|c\+\+|c-c\+\+-common|fortran)/|oacc-fortran/pr90030)|[^/]*\.h$)"
                    r"|include/gomp-constants\.h$)")
# libgomp's configure would have made it; affinity-1.c reads this of it.
CONFIG = "#define HAVE_PTHREAD_AFFINITY_NP 1\n"


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
    version = installed_version(PACKAGE)
    folder, done = cache / "source", cache / "source" / "version"
    if not done.exists():
        package = fetch(cache, PACKAGE, version, "gomp", "90 MB")
        print(f"gomp: unpacking {package.name}", flush=True)
        _unpack(package, folder)
        (folder / "generated").mkdir(parents=True, exist_ok=True)
        (folder / "generated" / "config.h").write_text(CONFIG)
        done.write_text(package.name.removesuffix(".orig.tar.gz") + "\n")
    return folder
