"""Fetches Debian's source package of llvm-toolchain-14 and unpacks the tests of its OpenMP runtime."""
from __future__ import annotations

import re
import tarfile
from pathlib import Path

from debian_source import fetch, installed_version, source_error  # noqa: F401

PACKAGE, LIBRARY = "llvm-toolchain-14", "libomp5-14"
# The tests, and two of the headers of the original, which some include.
WANTED = re.compile(r"^[^/]+/openmp/runtime/(test/|src/kmp_(platform|os|safe_c_api)\.h$)")


def llvm_tests(cache: Path) -> Path:
    """The folder of the tests; fetched and unpacked on first use."""
    version = installed_version(LIBRARY)
    folder, done = cache / "source", cache / "source" / "version"
    if not done.exists():
        package = fetch(cache, PACKAGE, version, "kmp", "130 MB")
        print(f"kmp: unpacking {package.name} (half a minute)", flush=True)
        with tarfile.open(package, mode="r|*") as tree:
            for member in tree:
                if member.isfile() and WANTED.match(member.name):
                    target = folder / member.name.partition("/openmp/runtime/")[2]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(tree.extractfile(member).read())
        done.write_text(package.name.partition(".orig")[0] + "\n")
    return folder / "test"
