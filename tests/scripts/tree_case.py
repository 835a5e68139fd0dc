"""A test case that runs one of scripts/ on a small tree made for it."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class TreeCase(unittest.TestCase):
    script = ""  # the name in scripts/

    def run_on(self, files: dict[str, str]) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return subprocess.run([sys.executable, SCRIPTS / self.script, "--root", root], capture_output=True, text=True)

    def assert_clean(self, files: dict[str, str]):
        result = self.run_on(files)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def assert_found(self, files: dict[str, str], *parts: str):
        """The script fails with one line that contains all the parts."""
        result = self.run_on(files)
        self.assertEqual(result.returncode, 1)
        lines = result.stderr.splitlines()
        self.assertTrue(any(all(part in line for part in parts) for line in lines), f"{parts} not in {lines}")
        self.assertEqual(len(lines), 1, lines)
