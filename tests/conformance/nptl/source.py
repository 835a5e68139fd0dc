"""Fetches Debian's source package of glibc and unpacks its tests of POSIX threads and what they are built with."""
from __future__ import annotations

import re
import tarfile
from pathlib import Path

from debian_source import fetch, installed_version, source_error  # noqa: F401

PACKAGE, LIBRARY = "glibc", "libc6"
# The tests, the driver that each contains, and headers.
WANTED = re.compile(r"^[^/]+/(nptl/|support/|include/|sysdeps/(pthread|nptl|generic|x86|x86_64|aarch64)/|"
                    r"sysdeps/unix/sysv/linux/[^/]*\.[ch]$|test-skeleton\.c$|misc/sys/|elf/.*\.h$|"
                    r"posix/tst-vfork[12]\.c$|elf/tst-(execstack(-mod)?|unwind-main)\.c$)")


def glibc_tests(cache: Path) -> Path:
    """glibc's folder, as far as it is wanted; fetched and unpacked on first use."""
    version = installed_version(LIBRARY)
    folder, done = cache / "source", cache / "source" / "version"
    if not done.exists():
        package = fetch(cache, PACKAGE, version, "nptl", "20 MB")
        print(f"nptl: unpacking {package.name}", flush=True)
        with tarfile.open(package, mode="r|*") as tree:
            for member in tree:
                if member.isfile() and WANTED.match(member.name):
                    target = folder / member.name.partition("/")[2]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(tree.extractfile(member).read())
        done.write_text(package.name.partition(".orig")[0] + "\n")
    return folder
