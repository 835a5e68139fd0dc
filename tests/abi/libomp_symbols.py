"""Does a drop-in export what Debian's libomp 14 does, each symbol under its version, what libomp 19 has more, what the headers of
LLVM 22 and Intel's libiomp5 of 2026 have beyond that (newer.txt), and nothing else?
Called with readelf, the library, the soname that it shall have, and the folder with the lists (NAME@VERSION or NAME@@VERSION, one a
line). Also: each entry point that clang or flang is known to emit must be among them.
"""
import subprocess
import sys
from pathlib import Path

# Not there, so that who looks for them by dlsym sees that: tools attach by the first, debuggers of libomp itself read the others.
ABSENT = {"ompt_start_tool@@VERSION", "kmp_mutex_impl_info@@VERSION", "__kmp_thread_pool@@VERSION"}
# Emitted for the construct, but the compilers' other libraries have them (libatomic, libomptarget).
ELSEWHERE = ("__atomic_", "__tgt_")

readelf, library, soname, folder = sys.argv[1:5]


def words(name: str) -> set[str]:
    return set((Path(folder) / name).read_text().split())


def output(*options: str) -> list[str]:
    return subprocess.run([readelf, "-W", *options, library], capture_output=True, text=True, check=True).stdout.splitlines()


fields = [line.split() for line in output("--dyn-syms")]
is_there = {f[7] for f in fields if len(f) >= 8 and f[3] in ("FUNC", "OBJECT") and f[4] in ("GLOBAL", "WEAK") and f[6] not in ("UND", "ABS")}
wanted = (words("libomp14.txt") - ABSENT) | words("libomp19_more.txt") | words("newer.txt")
errors = [f"missing: {name}" for name in sorted(wanted - is_there)] + [f"too many: {name}" for name in sorted(is_there - wanted)]
plain = {name.split("@")[0] for name in is_there}
for emitted in ("emit_clang14.txt", "emit_flang22.txt"):
    errors += [f"{emitted}: {name} is missing" for name in sorted(words(emitted)) if name not in plain and not name.startswith(ELSEWHERE)]
if not any("SONAME" in line and f"[{soname}]" in line for line in output("-d")):
    errors.append(f"its soname is not {soname}")
if len(is_there) < 1100:
    errors.append(f"only {len(is_there)} symbols were found")
print("\n".join(errors) or f"{len(is_there)} symbols, all with their versions")
sys.exit(bool(errors))
