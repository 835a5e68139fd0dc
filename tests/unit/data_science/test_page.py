"""The table says what was measured and what hung or failed; people's prose outlives a new run."""
import unittest

from data_science_path import REPOSITORY
from study.page import MARKER, LostMarker, cell, measured, merge, prose_of, table
from study.settings import AFTER_FORK, COMITY, DEFAULTS, Program
from study.summary import Outcome, Row


def row(outcomes, best="2 × 1", hangs=(), remarks=()):
    return Row(Program("plain", "a plain program", ("2 × 1",), hangs), outcomes, best, list(remarks))


class Cells(unittest.TestCase):
    def test_seconds_have_three_digits(self):
        self.assertEqual([cell(Outcome(value, 1), False) for value in (0.456, 9.994, 9.996, 34.79)], ["0.46", "9.99", "10.0", "34.8"])

    def test_hangs_failures_and_other_results_are_said(self):
        self.assertEqual(cell(None, True), "hangs (not tried)")
        self.assertEqual(cell(None, False), "–")
        self.assertEqual(cell(Outcome(None, 1, 1, hung=True), False), "hangs")
        self.assertEqual(cell(Outcome(2.0, 3, 1, hung=True), False), "hangs")
        self.assertEqual(cell(Outcome(None, 3, 3), False), "fails")
        self.assertEqual(cell(Outcome(2.0, 3, 1, wrong=True), False), "2.00 (1 of 3 failed, other results)")
        self.assertEqual(cell(Outcome(2.0, 3), False, "BLAS 1"), "2.00, BLAS 1")


class Table(unittest.TestCase):
    def test_a_row_for_each_program(self):
        lines = table([row({DEFAULTS: Outcome(9, 1), "2 × 1": Outcome(2, 3), COMITY: Outcome(3, 3)}),
                       row({"2 × 1": Outcome(2, 3), COMITY: Outcome(None, 1, 1, hung=True)}, hangs=AFTER_FORK),
                       row({DEFAULTS: Outcome(9, 1), COMITY: Outcome(3, 3)}, best=None)]).splitlines()
        self.assertEqual(lines, ["| program | defaults | best tuned | `comity run` | ratio |", "|---|---:|---:|---:|---:|",
                                 "| a plain program | 9.00 | 2.00, 2 × 1 | 3.00 | 1.50 |",
                                 "| a plain program | hangs (not tried) | 2.00, 2 × 1 | hangs | – |",
                                 "| a plain program | 9.00 | – | 3.00 | – |"])


class Page(unittest.TestCase):
    def test_conditions_and_remarks_are_on_it_and_what_is_empty_is_not(self):
        text = measured([row({}, best=None, remarks=["it failed"])], {"machine": "two cores", "load": ""})
        self.assertIn("\n- machine: two cores\n- times: ", text)
        self.assertNotIn("load", text)
        self.assertIn("\n- it failed\n", text)
        self.assertNotIn("No run failed", text)
        self.assertIn("No run failed", measured([row({})], {}))

    def test_prose_behind_the_marker_stays_and_the_rest_is_replaced(self):
        once = merge("", "first\n") + "\nWritten by hand.\n"
        twice = merge(once, "second\n")
        self.assertEqual(twice, f"second\n\n{MARKER}\n\nWritten by hand.\n")
        self.assertEqual(merge(twice, "second\n"), twice)

    def test_a_marker_in_the_middle_of_a_line_is_none(self):
        with self.assertRaises(LostMarker):
            prose_of(f"the line `{MARKER}`\nprose\n")

    def test_a_lost_marker_is_an_error_and_not_a_lost_page(self):
        with self.assertRaises(LostMarker):
            merge("Written by hand.\n", "first\n")
        self.assertEqual(prose_of("\n"), "")

    def test_the_page_of_this_repository_can_be_measured_anew(self):
        self.assertTrue(prose_of((REPOSITORY / "docs" / "results" / "data-science.md").read_text()).strip())


if __name__ == "__main__":
    unittest.main()
