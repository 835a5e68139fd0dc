"""The table, the page and the data say what was measured, and say so when it is not valid."""
import json
import tempfile
import unittest
from pathlib import Path

import demo_path  # noqa: F401
from comparison import plot, table
from comparison.measurement import Run
from comparison.page import page
from comparison.programs import programs, settings
from comparison.session import Outcome

DIGITS = programs(Path("/demo"), Path("/build"), "/venv/python")[0]
SECONDS = {"sequential": 2.0, "default": 10.0, "1x2": 1.25, "2x1": 1.5, "comity": 1.0}


def outcome(wrong=False):
    runs = {name: [Run(seconds=value, wall=value, cpu=value, switches=1234, peak_threads=4, runnable=2.5, others=0.3 * (name == "1x2"),
                       results={"x": 7.0 if wrong and name == "comity" else 1.0})] for name, value in SECONDS.items()}
    return Outcome(DIGITS, settings(DIGITS, 2), runs)


class Table(unittest.TestCase):
    def test_four_rows_with_the_ratio_to_the_best(self):
        rows = table.rows_of(outcome())
        self.assertEqual([row[0] for row in rows],
                         ["one thread", "library defaults", "best hand tuning (OMP 1, BLAS 2)", "Comity, nothing tuned"])
        self.assertEqual([row[3] for row in rows], ["1.60", "8.00", "1.00", "0.80"])
        self.assertEqual(rows[0][6], "1,234")

    def test_columns_are_aligned_and_disturbed_runs_marked(self):
        text = table.as_text([outcome()], 2)
        self.assertIn("1.250~", text)
        self.assertIn("~ other processes", text)
        self.assertIn("PASS  0.80 times the best hand tuning", text)
        columns = {line.index("1,234") for line in text.splitlines() if "1,234" in line}
        self.assertEqual(len(columns), 1)

    def test_data_keeps_every_run_and_is_json(self):
        data = json.loads(json.dumps(table.as_data([outcome()], {"machine": "m"}, 2)))
        self.assertEqual(data["programs"]["digits"]["best"], "1x2")
        self.assertEqual(len(data["programs"]["digits"]["settings"]["comity"]["runs"]), 1)
        self.assertEqual(data["trouble"], [])

    def test_markdown_has_every_setting_and_the_verdicts(self):
        data = json.loads(json.dumps(table.as_data([outcome()], {"machine": "m"}, 2)))
        lines = table.as_markdown(data).splitlines()
        self.assertIn("- machine: m", lines)
        self.assertIn("| OMP 1, BLAS 2 (best hand tuning) | 1.250~ | 1.25-1.25 | 1.00 | 4 | 2.5 | 1,234 | 1.2 |", lines)
        self.assertEqual(sum(line.startswith("| ") for line in lines), 1 + len(SECONDS))
        self.assertIn("- PASS  0.80 times the best hand tuning (at most 1.05)", lines)

    def test_a_wrong_result_is_trouble(self):
        self.assertEqual(table.trouble([outcome(wrong=True)]), ["digits: comity: x is 7 instead of 1"])


class Page(unittest.TestCase):
    def test_everything_is_inside_and_text_is_escaped(self):
        text = page([outcome()], {"machine": "A & B"}, 2, '<?xml version="1.0"?>\n<svg id="picture"></svg>')
        self.assertIn('<svg id="picture">', text)
        self.assertNotIn("<?xml", text)
        self.assertIn("A &amp; B", text)
        self.assertIn('<tr class="comity">', text)
        for outside in ("<script", "<link", "src=", "@import"):
            self.assertNotIn(outside, text)

    def test_an_invalid_comparison_says_so(self):
        self.assertIn("Not valid", page([outcome(wrong=True)], {}, 2, ""))
        self.assertNotIn("Not valid", page([outcome()], {}, 2, ""))


class Picture(unittest.TestCase):
    def test_labels_say_the_ratio_where_it_matters(self):
        value = table.medians(outcome())["default"]
        self.assertEqual(plot.seconds_label(value, 1.25), "10.00 s  (8.0× the best)")
        self.assertEqual(plot.seconds_label(value, 9.0), "10.00 s")
        self.assertEqual(plot.seconds_label(value, 9.0, exact=True), "10.00 s  (1.11× the best)")
        self.assertEqual([plot.short(number) for number in (10, 1e3, 1e5, 1e6)], ["10", "1 k", "100 k", "1 M"])

    def test_it_is_drawn_as_png_and_svg(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("no matplotlib in this Python; the demo has one of its own")
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, "a.png"), Path(folder, "a.svg")]
            self.assertTrue(plot.draw(paths, [outcome()], {"machine": "m", "date": "today"}, 2))
            self.assertEqual(paths[0].read_bytes()[1:4], b"PNG")
            self.assertIn("Comity, nothing tuned", paths[1].read_text())


if __name__ == "__main__":
    unittest.main()
