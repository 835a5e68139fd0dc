"""What the harness says of peers without programs."""
import tempfile
import unittest
from pathlib import Path
from typing import List

import harness_path  # noqa: F401
from harness.libraries import report_absent


class Absent(unittest.TestCase):
    def said(self, not_found: str, absent: List[str]) -> List[str]:
        lines: List[str] = []
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "not_found.txt").write_text(not_found)
            report_absent(Path(folder), absent, lines.append)
        return lines

    def test_says_which_were_not_found_and_which_are_not_built(self) -> None:
        self.assertEqual(self.said("go\nlibfork\n", ["go", "tbb"]),
                         ["not found when the build was configured: go", "not built (build the target bench_programs): tbb"])

    def test_says_nothing_of_what_is_not_absent(self) -> None:
        self.assertEqual(self.said("go\n", []), [])
        self.assertEqual(self.said("\n", ["tbb"]), ["not built (build the target bench_programs): tbb"])


if __name__ == "__main__":
    unittest.main()
