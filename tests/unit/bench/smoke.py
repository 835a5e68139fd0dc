"""smoke.py PROGRAM METRIC [ARGUMENTS...]: the program ends well, and its last line is a record that was verified and has the metric."""
import subprocess
import sys

import harness_path  # noqa: F401
from harness.process import last_json_line

program, metric, *arguments = sys.argv[1:]
done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=50)
record = last_json_line(done.stdout) or {}
if done.returncode != 0 or record.get("verified") is not True or not record.get(metric, -1) > 0 or not record.get("workload"):
    sys.exit(f"exit status {done.returncode}, no {metric} in: {done.stdout}{done.stderr}")
