"""Does abt.h declare all of Argobots' public functions, and libcomity_abt.so export them, and nothing else?
Called with readelf, the library, the folder of abt.h and the list of names, one a line.
"""
import re
import subprocess
import sys
from pathlib import Path

readelf, library, folder, wanted_file = sys.argv[1:5]
wanted = set(Path(wanted_file).read_text().split())
lines = subprocess.run([readelf, "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout.splitlines()
fields = [line.split() for line in lines]
exported = {f[7] for f in fields if len(f) >= 8 and f[3] == "FUNC" and f[4] == "GLOBAL" and f[6] != "UND"}
text = "".join(path.read_text() for path in Path(folder).glob("*.h"))
declared = set(re.findall(r"ABT_API_PUBLIC (?:int|double) (ABT_\w+)\(", text))
variables = {f[7] for f in fields if len(f) >= 8 and f[3] == "OBJECT" and f[4] == "GLOBAL" and f[6] != "UND"}

errors = [f"not exported: {name}" for name in sorted(wanted - exported)]
errors += [f"exported, but not Argobots': {name}" for name in sorted(exported - wanted)]
errors += [f"not declared: {name}" for name in sorted(wanted - declared)]
errors += [f"declared, but not Argobots': {name}" for name in sorted(declared - wanted)]
errors += [f"not exported: {name}" for name in ("ABT_sched_config_var_end", "ABT_pool_config_automatic") if name not in variables]
if len(wanted) != 261:
    errors.append(f"the list has {len(wanted)} names")
print("\n".join(errors) or f"{len(exported)} functions")
sys.exit(bool(errors))
