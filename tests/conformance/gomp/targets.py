"""Which of DejaGnu's targets this machine is: triplets, and the `effective targets` that libgomp's tests ask for."""
from __future__ import annotations

import fnmatch
import platform
from pathlib import Path

from tcl import parse_list

# Asked of the machine, the compiler or the C library; true wherever Debian's gcc-12 runs.
ALWAYS = {"tls", "tls_runtime", "size32plus", "sync_int_long", "lp64", "lto", "shared", "fpic", "fd_truncate", "alias",
          "offload_device_shared_as"}  # the last: a target region that falls back to the host shares its memory
# Devices are out of scope (the compiler is told -foffload=disable), and so are tests that want minutes of a big machine.
NEVER = {"run_expensive_tests", "skip-all-targets", "ia32", "aarch64_tiny", "offload_device", "offload_device_nonshared_as",
         "offload_device_nvptx", "offload_device_any_intel_mic", "offload_target_nvptx",
         "offload_target_amdgcn", "offload_device_intel_mic"}
X86_ONLY = {"sse2_runtime": "sse2", "avx_runtime": "avx"}
X86_ALWAYS = {"vect_simd_clones", "large_long_double", "__float128"}


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> set[str]:
    for line in cpuinfo.read_text().splitlines():
        if line.startswith(("flags", "Features")):
            return set(line.partition(":")[2].split())
    return set()


class target:
    """The machine as the selectors of the directives see it; language is c, c++ or fortran."""

    def __init__(self, language: str, machine: str = "", flags: set[str] | None = None):
        self.language_ = language
        self.machine_ = machine or platform.machine()
        self.flags_ = processor_flags() if flags is None else flags

    def has(self, name: str) -> bool:
        if "-" in name and ("*" in name or "?" in name):
            return fnmatch.fnmatchcase(f"{self.machine_}-pc-linux-gnu", name)
        if name in ("c", "c++"):
            return name == self.language_
        if name in X86_ONLY:
            return self.machine_ == "x86_64" and X86_ONLY[name] in self.flags_
        if name in X86_ALWAYS:
            return self.machine_ == "x86_64"
        if name in ALWAYS or name in NEVER:
            return name in ALWAYS
        raise ValueError(f"effective target {name!r} is not known to targets.py")

    def selected(self, expression: str) -> bool:
        """The value of a selector such as `{ i?86-*-* x86_64-*-* } && lp64`; names side by side mean `or`."""
        words = parse_list(expression)
        value, rest = self._any(words)
        if rest:
            raise ValueError(f"selector {expression!r}: {rest} is left over")
        return value

    def _any(self, words: list[str]) -> tuple[bool, list[str]]:
        value, words = self._all(words)
        while words and words[0] == "||":
            other, words = self._all(words[1:])
            value = value or other
        return value, words

    def _all(self, words: list[str]) -> tuple[bool, list[str]]:
        value, words = self._row(words)
        while words and words[0] == "&&":
            other, words = self._row(words[1:])
            value = value and other
        return value, words

    def _row(self, words: list[str]) -> tuple[bool, list[str]]:
        value, words = self._one(words)
        while words and words[0] not in ("&&", "||"):
            other, words = self._one(words)
            value = value or other
        return value, words

    def _one(self, words: list[str]) -> tuple[bool, list[str]]:
        if not words:
            raise ValueError("selector ends too early")
        word, rest = words[0], words[1:]
        if word == "!":
            value, rest = self._one(rest)
            return not value, rest
        if word.split() != [word]:
            return self.selected(word), rest
        return self.has(word), rest
