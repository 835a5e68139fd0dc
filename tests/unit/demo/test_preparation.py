"""What is missing is named before anything is measured, with what to do about it."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import demo_path  # noqa: F401
from comparison import preparation
from comparison.preparation import NotReady


class Preparation(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.requirements = self.folder / "requirements.txt"
        self.requirements.write_text("numpy==1\n")

    def tool(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def test_an_old_python_is_refused(self):
        with self.assertRaisesRegex(NotReady, "3.11 or newer; this is 3.9"):
            preparation.check_python((3, 9))
        preparation.check_python((3, 11))

    def test_what_is_not_built_is_named(self):
        built = self.tool("multifrontal", "exit 0")
        preparation.check_built(built, built)
        with self.assertRaisesRegex(NotReady, "Comity is not built: there is no .*/comity\n.*make demo"):
            preparation.check_built(built, self.folder / "comity")

    def test_without_venv_the_package_is_named(self):
        broken = self.tool("python", "echo 'ensurepip is not available' >&2; exit 1")
        with mock.patch("sys.executable", str(broken)), self.assertRaisesRegex(NotReady, "ensurepip is not available\n.*python3-venv"):
            preparation.make_environment(self.folder / "venv", self.requirements, lambda line: None)

    def test_where_nothing_is_to_be_installed_nothing_is(self):
        with mock.patch.dict("os.environ", COMITY_NO_INSTALL="1"), self.assertRaisesRegex(NotReady, "(?s)nothing is installed.*make demo"):
            preparation.make_environment(self.folder / "venv", self.requirements, self.fail)
        self.assertFalse((self.folder / "venv").exists())

    def test_without_a_network_pips_complaint_is_shown_and_no_half_environment_counts(self):
        python = self.tool("python", """
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit 0; fi
echo 'Collecting numpy==1'; echo 'ERROR: no route to host'; exit 1""")
        said = []
        with mock.patch("sys.executable", str(python)), self.assertRaisesRegex(NotReady, "no route to host\n.*network"):
            preparation.make_environment(self.folder / "venv", self.requirements, said.append)
        self.assertIn("  fetching numpy==1", said)
        self.assertFalse(preparation.is_complete(self.folder / "venv", self.requirements))

    def test_a_complete_environment_is_used_until_the_requirements_change(self):
        python = self.tool("python", 'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi; exit 0')
        said = []
        with mock.patch("sys.executable", str(python)):
            preparation.make_environment(self.folder / "venv", self.requirements, said.append)
            self.assertEqual(len(said), 1)
            preparation.make_environment(self.folder / "venv", self.requirements, said.append)
            self.assertEqual(len(said), 1)
            self.requirements.write_text("numpy==2\n")
            preparation.make_environment(self.folder / "venv", self.requirements, said.append)
            self.assertEqual(len(said), 2)


if __name__ == "__main__":
    unittest.main()
