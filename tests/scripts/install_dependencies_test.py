"""scripts/install-dependencies picks the right packages and says what it does; the system's tools are stood in for."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "install-dependencies"
LIST = """# comment
there      # build
absent     # the build: not a need, for two words stand before this colon
for-demo   # demo: why
for-both   # test,demo: why
"""
# Each records its call; dpkg-query knows one package, apt-get fails before the first `update` if the test wants that.
TOOLS = {
    "dpkg-query": '[ "$4" = there ] && echo "ii  there "',
    "apt-get": 'echo "apt-get $*" >> "$LOG"; [ "${STALE:-0}" = 0 ] || grep -q update "$LOG"',
    "sudo": 'echo "sudo $*" >> "$LOG"; exec "$@"',
    "id": 'echo "$FAKE_UID"',
}


class InstallDependencies(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copy(SCRIPT, self.folder)
        (self.folder / "dependencies.txt").write_text(LIST)
        (self.folder / "bin").mkdir()
        for name, body in TOOLS.items():
            self.make_tool(name, body)

    def make_tool(self, name: str, body: str):
        tool = self.folder / "bin" / name
        tool.write_text(f"#!/bin/sh\n{body}\n")
        tool.chmod(0o755)

    def run_script(self, *needs: str, **environment: str):
        """Runs it; self.log is then what was called."""
        log = self.folder / "log"
        log.write_text("")
        full = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LOG": str(log), "FAKE_UID": "0"} | environment
        result = subprocess.run([self.folder / "install-dependencies", *needs], env=full, capture_output=True, text=True)
        self.log = log.read_text()
        return result

    def test_installs_what_every_build_needs_and_says_so(self):
        result = self.run_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("installing with apt-get: absent\n", result.stdout)
        self.assertEqual(self.log, "apt-get -y -q install --no-install-recommends absent\n")

    def test_adds_the_packages_of_the_needs_that_are_named(self):
        self.run_script("demo")
        self.assertIn("absent for-demo for-both\n", self.log)
        self.run_script("test")
        self.assertIn("absent for-both\n", self.log)

    def test_uses_sudo_when_not_root(self):
        self.assertEqual(self.run_script(FAKE_UID="1000").returncode, 0)
        self.assertIn("sudo env DEBIAN_FRONTEND=noninteractive apt-get", self.log)

    def test_tries_again_after_an_update_of_a_stale_package_list(self):
        result = self.run_script(STALE="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line.split()[3] for line in self.log.splitlines()], ["install", "update", "install"])

    def test_no_install_lists_what_is_missing_with_the_command(self):
        result = self.run_script("demo", COMITY_NO_INSTALL="1", FAKE_UID="1000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing: absent for-demo for-both\n", result.stderr)
        self.assertIn("  sudo apt-get install absent for-demo for-both\n", result.stderr)
        self.assertEqual(self.log, "")

    def test_installs_nothing_when_all_is_there(self):
        (self.folder / "dependencies.txt").write_text("there # build\n")
        result = self.run_script(COMITY_NO_INSTALL="1")
        self.assertEqual((result.returncode, self.log), (0, ""))

    def test_fails_when_a_package_cannot_be_installed(self):
        self.make_tool("apt-get", "exit 100")
        self.assertNotEqual(self.run_script().returncode, 0)


if __name__ == "__main__":
    unittest.main()
