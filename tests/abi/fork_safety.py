"""No library of Comity's locks a local static while it is made: in the child of a fork in the middle, by another thread,
it would stay locked for ever (sys::made_once does not).

    fork_safety.py READELF LIBRARY...
"""
import subprocess
import sys

readelf, *libraries = sys.argv[1:]
wrong = 0
for library in libraries:
    symbols = subprocess.run([readelf, "--dyn-syms", "--wide", library], capture_output=True, text=True, check=True).stdout
    if "__cxa_guard_acquire" in symbols:
        wrong += 1
        print(f"{library}: a local static has a lock; use sys::made_once or constinit")
sys.exit(wrong != 0 or not libraries)
