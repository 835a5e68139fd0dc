"""Does the drop-in export what gcc 12's libgomp does, each symbol under its version, and nothing else?
Called with readelf, the library and the list (NAME@VERSION or NAME@@VERSION, one a line). Also: each entry point that gcc or gfortran is
known to emit must be among them; those lists stand beside the first one.
"""
import subprocess
import sys
from pathlib import Path

readelf, library, wanted_file = sys.argv[1:4]
wanted = set(Path(wanted_file).read_text().split())
lines = subprocess.run([readelf, "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout.splitlines()
fields = [line.split() for line in lines]
is_there = {f[7] for f in fields if len(f) >= 8 and f[3] == "FUNC" and f[4] in ("GLOBAL", "WEAK") and f[6] != "UND"}

errors = [f"missing: {name}" for name in sorted(wanted - is_there)] + [f"too many: {name}" for name in sorted(is_there - wanted)]
plain = {name.split("@")[0] for name in is_there}
for emitted in ("emit_gcc12.txt", "emit_gfortran12.txt"):
    names = Path(wanted_file).with_name(emitted).read_text().split()
    errors += [f"{emitted}: {name} is missing" for name in names if name not in plain]
if not wanted or len(is_there) < 400:
    errors.append(f"only {len(is_there)} symbols were found")
print("\n".join(errors) or f"{len(is_there)} symbols, all with their versions")
sys.exit(bool(errors))
