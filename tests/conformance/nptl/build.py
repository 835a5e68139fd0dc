"""Builds glibc's test driver as a library, and the tests with it, against the installed C library."""
from __future__ import annotations

import platform
from pathlib import Path

from posix_threads.execute import build_error, compile_with
from suite import FOLDERS, test_case

HEADERS = Path(__file__).with_name("headers").resolve()
COMMON = ["-w", "-O2", "-D_GNU_SOURCE", "-D_LIBC_REENTRANT", "-DTIMEOUTFACTOR=1", "-include", str(HEADERS / "internal.h")]
PATHS = ("OBJDIR_PATH", "OBJDIR_ELF_LDSO_PATH", "INSTDIR_PATH", "LIBDIR_PATH", "BINDIR_PATH", "SBINDIR_PATH", "SLIBDIR_PATH",
         "ROOTSBINDIR_PATH", "COMPLOCALEDIR_PATH", "SYSCONFDIR_PATH", "SYSROOT_PATH", "SRCDIR_PATH", "RTLDDIR_PATH")


def includes(source: Path) -> list[str]:
    """The system's headers come first; glibc's own folders only add what the tests have beside them."""
    after = [HEADERS, source, source / "support", *(source / part for part in FOLDERS), source / "sysdeps/unix/sysv/linux",
             *(source / f"sysdeps/{part}" for part in (platform.machine(), f"{platform.machine()}/nptl", "x86/nptl", "generic")),
             source / "include"]
    return [word for folder in after for word in ("-idirafter", str(folder))]


def support(source: Path, cache: Path) -> Path:
    """The driver's library; made on first use. Files that need glibc's build are left out: a test that uses one does not link."""
    library, objects = cache / "libsupport.a", cache / "support"
    if library.exists():
        return library
    print("nptl: building the test driver", flush=True)
    objects.mkdir(exist_ok=True)
    made = []
    for file in sorted((source / "support").glob("*.c")):
        if file.name.startswith("tst-") or file.name.endswith("-container.c"):
            continue
        target = objects / f"{file.stem}.o"
        try:
            compile_with(["gcc", "-std=gnu11", *COMMON, *(f'-D{name}="/"' for name in PATHS), *includes(source), "-c", str(file),
                      "-o", str(target)], objects)
            made.append(str(target))
        except build_error:
            pass
    compile_with(["ar", "rc", str(library), *made], objects)
    return library


def build(case: test_case, source: Path, library: Path, folder: Path) -> Path:
    """The program `test` in its folder, and its modules beside it."""
    program = folder / "test"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    include = includes(source)
    for name in sorted(set(case.modules)):
        module = next((file for part in FOLDERS for file in (source / part).glob(f"{name}.c")), None)
        if module:
            compile_with(["gcc", "-std=gnu11", *COMMON, *include, "-fPIC", "-shared", f"-Wl,-soname,{name}.so", str(module),
                      "-o", f"{name}.so"], folder)
    compiler = ["g++", "-std=gnu++11", "-fpermissive"] if case.source.suffix == ".cc" else ["gcc", "-std=gnu11"]
    compile_with([*compiler, *COMMON, *include, *case.flags, str(case.source),
              *(str(case.source.with_name(f"{name}.c")) for name in case.objects), "-o", "test", *case.link,
              *(f"{name}.so" for name in case.linked), str(library), "-ldl", "-lm"], folder)
    return program
