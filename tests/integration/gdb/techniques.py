"""In gdb, at the end of techniques.cpp: a parked thread of each technique is listed under its name, where it stands, and
a stackless one that runs; free contexts, of which there are some since they are made several at once, are listed when all are asked for."""

import gdb

lines = gdb.execute("comity threads", to_string=True).splitlines()
missing = []
for technique in ("full", "full_l", "roc", "roc_l", "ss", "ss_l", "sc", "c_full", "c_full_e", "c_roc", "c_roc_e", "automatic"):
    name = f"named-{technique}"
    if not any(f" parked " in l and f" {technique} " in l and f" {name} " in l for l in lines):
        missing.append(technique)
if not any(" running " in l and " stackless " in l and " named-stackless " in l for l in lines):
    missing.append("stackless")
below = gdb.execute("comity bt all", to_string=True).count("parked_below_here (")
if below != 12:
    missing.append(f"12 backtraces, but {below}")
def free(listed):
    return [l for l in listed if l.split()[2:3] in (["fresh"], ["exited"])]


if free(lines):
    missing.append("a list without free contexts")
if not free(gdb.execute("comity threads all", to_string=True).splitlines()):
    missing.append("the free contexts among all")
print("\n".join(lines) + f"\nmissing: {missing}" if missing else "every technique was found")
