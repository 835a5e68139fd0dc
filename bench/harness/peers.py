"""Who can answer the OpenMP calls of an unmodified binary on this machine, and how each is brought to do it."""
from __future__ import annotations

import glob
import itertools
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from .model import Contender, Progress, Variant

NESTING = {"OMP_MAX_ACTIVE_LEVELS": "8"}  # the stock runtimes and the directly preloaded drop-in have nesting off by default
HOT_TEAMS = {"KMP_HOT_TEAMS_MODE": "1", "KMP_HOT_TEAMS_MAX_LEVEL": "8"}
WAITING = {"default": {}, "passive": {"OMP_WAIT_POLICY": "passive"}, "active": {"OMP_WAIT_POLICY": "active"}}
EXTRA_LIBOMP = "libomp5-19"  # cannot be installed beside version 14, so it is unpacked into the build folder


def cached_library(soname: str) -> Optional[str]:
    """Where the dynamic linker's cache has a library."""
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        listing = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(rf"^\s*{re.escape(soname)} \(.*\) => (\S+)$", listing, re.MULTILINE)
    return found.group(1) if found else None


def fetch_package(package: str, folder: Path, progress: Progress) -> None:
    """Unpacks a Debian package below `folder` without installing it. A failure leaves the peer out, and says so."""
    target = folder / package
    if target.is_dir() or not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return
    download = folder / "download"
    download.mkdir(parents=True, exist_ok=True)
    progress(f"fetching {package} with apt-get download")
    done = subprocess.run(["apt-get", "download", "-q", package], cwd=download, capture_output=True, text=True)
    archives = sorted(download.glob(f"{package}_*.deb"))
    if done.returncode != 0 or not archives:
        progress(f"{package}: not available, so it is left out")
        return
    subprocess.run(["dpkg-deb", "-x", str(archives[-1]), str(target)], check=True)


def find_libomp(folder: Path) -> Dict[str, str]:
    """Version: file, of every libomp that is installed or unpacked."""
    found: Dict[str, str] = {}
    for pattern in ("/usr/lib/llvm-*/lib/libomp.so.5", f"{folder}/*/usr/lib/llvm-*/lib/libomp.so.5"):
        for path in sorted(glob.glob(pattern)):
            version = re.search(r"llvm-(\d+)", path)
            if version:
                found.setdefault(version.group(1), path)
    return found


def shadow_folder(folder: Path, name: str, library: str) -> str:
    """A folder for LD_LIBRARY_PATH in which every name an OpenMP binary may ask for is `library`. libomp answers libgomp's entry
    points too, so a gcc binary runs on it."""
    shadow = folder / f"shadow-{name}"
    shadow.mkdir(parents=True, exist_ok=True)
    for soname in ("libgomp.so.1", "libomp.so.5", "libomp.so"):
        link = shadow / soname
        if link.is_symlink() or link.exists():
            link.unlink()
        link.symlink_to(library)
    return str(shadow)


def libgomp_variants() -> List[Variant]:
    runtime = cached_library("libgomp.so.1")
    return [Variant(waiting, {**NESTING, **setting}, runtime=runtime, quick=waiting != "active")
            for waiting, setting in WAITING.items()]


def libomp_variants(folder: Path, found: Dict[str, str]) -> List[Variant]:
    """Both ABIs, every wait policy, hot teams at every level, and as they come."""
    variants = []
    for version, library in found.items():
        path = {"LD_LIBRARY_PATH": shadow_folder(folder, f"libomp-{version}", library)}
        for suffix, waiting in itertools.product(("", "-clang"), WAITING):
            abi = "clang" if suffix else "gcc"
            hot = {**NESTING, **HOT_TEAMS, **WAITING[waiting], **path}
            variants.append(Variant(f"{version}/{abi}/{waiting}", hot, suffix=suffix, runtime=library,
                                    quick=not suffix or waiting == "passive"))
            if waiting != "active":
                cold = {**NESTING, **WAITING[waiting], **path}
                variants.append(Variant(f"{version}/{abi}/{waiting}/no-hot-teams", cold, suffix=suffix, runtime=library,
                                        quick=False))
    return variants


def without_regions(contenders: Dict[str, Contender]) -> Dict[str, Contender]:
    """For programs with one region that lasts: how teams are kept does not matter."""
    return {name: Contender(name, one.title, [variant for variant in one.variants if "no-hot-teams" not in variant.name])
            for name, one in contenders.items()}


def tasks_contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    return without_regions(all_contenders(build, programs, False, progress))


def compilers_contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    """For programs that compute: gcc's binaries among themselves and clang's among themselves, so that no compiler wins the race for a
    runtime."""
    found = all_contenders(build, programs, download, progress)
    for name, title, suffix in (("clang-libomp", "libomp, clang's binary", "-clang"), ("libomp", "libomp, gcc's binary", "")):
        variants = [one for one in found["libomp"].variants if one.suffix == suffix] if "libomp" in found else []
        if variants:
            found[name] = Contender(name, title, variants)
    return found


def lasting_contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    return without_regions(compilers_contenders(build, programs, download, progress))


def newest_contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    """For rows of many widths: of libomp the newest version with gcc's binary, in each wait policy."""
    found = lasting_contenders(build, programs, download, progress)
    if "libomp" in found:
        newest = max((one.name.partition("/")[0] for one in found["libomp"].variants), key=int)
        found["libomp"] = replace(found["libomp"], variants=[one for one in found["libomp"].variants if one.name.startswith(newest)])
    return found


def series_contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    """For curves: each wait policy is a line of its own, as in the thesis; hot teams at every level. *taskloop*: the inner loop is one."""
    found = all_contenders(build, programs, download, progress)
    series = {name: found[name] for name in ("comity",) if name in found}
    for runtime, pattern in (("libgomp", r"(active|passive)"), ("libomp", r"(\d+)/gcc/(active|passive)")):
        for one in found[runtime].variants if runtime in found else ():
            match = re.fullmatch(pattern, one.name)
            if match:
                title = " ".join([runtime, *match.groups()])
                name = title.replace(" ", "-")
                series[name] = Contender(name, title, [one])
    for name in [name for name in series if name == "comity" or name.endswith("active")]:
        one = series[name]
        looping = replace(one.variants[0], arguments=["--taskloop", "1"])
        series[f"{name}-taskloop"] = Contender(f"{name}-taskloop", f"{one.title}, taskloop", [looping])
    return series


def bolt_variants(folder: Path) -> List[Variant]:
    library = os.environ.get("BENCH_BOLT") or cached_library("libbolt.so")
    if not library or not os.path.exists(library):
        return []
    path = {"LD_LIBRARY_PATH": shadow_folder(folder, "bolt", library)}
    return [Variant(waiting, {**NESTING, **HOT_TEAMS, **setting, **path}, runtime=library) for waiting, setting in WAITING.items()]


def comity_files(build: Path) -> Tuple[Path, Path]:
    """The command and the drop-in of a build tree, or of an installed prefix."""
    command = build / "bin" / "comity"
    for library in (build / "lib" / "comity" / "libgomp.so.1", *sorted(build.glob("lib/*/comity/libgomp.so.1"))):
        if library.exists():
            return command, library
    return command, build / "lib" / "comity" / "libgomp.so.1"


def unpacked(programs: Path) -> Path:
    """Where peers are unpacked: beside the programs, or where an installation is not ours to write to, in a folder of the user's."""
    if os.access(programs, os.W_OK):
        return programs / "peers"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "comity" / "bench"


def all_contenders(build: Path, programs: Path, download: bool, progress: Progress) -> Dict[str, Contender]:
    """Every contender that exists here, by name."""
    folder = unpacked(programs)
    folder.mkdir(parents=True, exist_ok=True)
    if download:
        fetch_package(EXTRA_LIBOMP, folder, progress)
    libomp = find_libomp(folder)
    command, library = comity_files(build)
    answered = str(library)
    contenders = [
        Contender("plain", "plain", [Variant("plain")]),
        Contender("libgomp-default", "libgomp, defaults", [Variant("default", runtime=cached_library("libgomp.so.1"))]),
        Contender("libgomp", "libgomp, best", libgomp_variants()),
        Contender("libomp", "libomp, best", libomp_variants(folder, libomp)),
        Contender("bolt", "BOLT, best", bolt_variants(folder)),
        Contender("comity", "comity run",
                  [Variant("run", wrapper=[str(command), "run", "--"], runtime=answered)] if command.exists() else []),
        Contender("comity-clang", "comity run, clang's binary",
                  [Variant("run", wrapper=[str(command), "run", "--"], suffix="-clang", runtime=answered)] if command.exists() else []),
        Contender("serial", "without OpenMP", [Variant("serial", suffix="-serial")]),
        Contender("comity-preload", "Comity by LD_PRELOAD",
                  [Variant("preload", {**NESTING, "LD_PRELOAD": answered}, runtime=answered)] if library.exists() else []),
    ]
    for one in contenders:
        if not one.variants:
            progress(f"{one.title}: not found, so its column is left out")
    return {one.name: one for one in contenders if one.variants}
