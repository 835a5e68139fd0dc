"""The OpenBLAS inside numpy's wheel under the preload object. Skipped (77) where the demo's Python packages are not installed."""
import os
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def main():
    preload = os.environ["COMITY_BLAS"]
    python = Path(os.environ["COMITY_DEMO_PYTHON"])
    if not python.exists():
        print(f"skipped: no {python}; `make demo` installs numpy there")
        return SKIPPED
    program = Path(__file__).with_name("wheel_program.py")
    environment = os.environ | {"LD_PRELOAD": preload, "COMITY_VERBOSE": "1", "COMITY_HARTS": "2", "OPENBLAS_NUM_THREADS": "2"}
    result = subprocess.run([python, "-B", program], env=environment, text=True, capture_output=True, timeout=250)
    print(result.stdout + result.stderr)
    if "runs its jobs on Comity" not in result.stderr:
        print("FAILED: numpy's OpenBLAS was not served")
        return 1
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
