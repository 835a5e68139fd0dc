"""Tables, the generated section, and the JSON file."""
import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import harness_path  # noqa: F401
from harness import machine, report
from harness.model import Bar, Case, Contender, Suite, Variant
from harness.plot import costs, speedups
from harness.session import Outcome

CASE = Case("nested-8x8", "nested 8×8", "Nested", "nested/nested", contenders=("libgomp", "comity"),
            bars=[Bar("times_faster", 150, "libgomp"), Bar("times_faster", 400, "libgomp", source="anchor")], extra=["kernel_threads"])
SUITE = Suite("nested", "Nested regions", [CASE])
CONTENDERS = {name: Contender(name, title, [Variant("only")]) for name, title in (("libgomp", "libgomp, best"), ("comity", "comity run"))}


def results():
    return {"nested-8x8": {"libgomp": Outcome("passive", [3000.0, 3100.0, 2900.0], trial={"passive": 3000.0}),
                           "comity": Outcome("run", [15.0, 15.0, 15.0], extra={"kernel_threads": [2.0]})}}


class Figures(unittest.TestCase):
    def test_digits_that_matter(self):
        self.assertEqual([report.figure(number) for number in (0, 0.0056, 0.541, 7.123, 55.31, 269129.4)],
                         ["0", "0.0056", "0.54", "7.12", "55.3", "269,129"])

    def test_a_cell_shows_spread_and_failures(self):
        self.assertEqual(report.cell(Outcome(values=[1.0, 2.0, 3.0])), "2.00 (1.50–2.50)")
        self.assertEqual(report.cell(Outcome(values=[2.0, 2.0])), "2.00")
        self.assertEqual(report.cell(Outcome(values=[2.0], failures=["hang"])), "2.00, failed 1 of 2: hang")
        self.assertEqual(report.cell(Outcome(failures=["crash"])), "failed: crash")
        self.assertEqual(report.cell(None), "–")

    def test_a_row_whose_title_others_have_is_named_with_its_table(self):
        suite = Suite("scaling", "", [Case("a", "2 cores", "fib", "fib"), Case("b", "2 cores", "uts", "uts"), Case("c", "4 cores", "uts", "uts")])
        self.assertEqual([suite.name_of(case) for case in suite.cases], ["fib: 2 cores", "uts: 2 cores", "4 cores"])

    def test_what_was_measured_elsewhere_is_shown_as_it_was_there(self):
        text = report.as_json(SUITE, results(), {"machine": "another one"})
        again, conditions = report.from_json(text)
        self.assertEqual(conditions, {"machine": "another one"})
        self.assertEqual(again, results())

    def test_a_cell_says_when_most_of_its_runs_were_disturbed(self):
        self.assertEqual(report.cell(Outcome(values=[2.0, 2.0, 2.0], disturbed=2)), "2.00 ~")
        self.assertEqual(report.cell(Outcome(values=[2.0, 2.0, 2.0], disturbed=1)), "2.00")


class Tables(unittest.TestCase):
    def test_rows_hold_the_ratio_and_every_verdict(self):
        heading, row = report.rows_of([CASE], SUITE, CONTENDERS, results())
        self.assertEqual(heading, ["case", "unit", "libgomp, best", "comity run", "libgomp / Comity", "bars"])
        self.assertEqual(row[4], "200×")
        self.assertEqual(row[5], "PASS ≥ 150× libgomp (200); MISS goal ≥ 400× libgomp (200)")

    def test_markdown_has_as_many_cells_in_every_line(self):
        lines = report.markdown_table(report.rows_of([CASE], SUITE, CONTENDERS, results())).splitlines()
        self.assertEqual({line.count("|") for line in lines}, {7})

    def test_bars_and_goals_are_counted_apart(self):
        counts = report.tally(SUITE, results())
        self.assertEqual(counts, {"issue": {"PASS": 1}, "anchor": {"MISS": 1}})
        self.assertEqual(report.tally_text(counts), "bars: 1 PASS; goals: 1 MISS")

    def test_a_failed_subject_misses_its_bar_in_the_table(self):
        broken = results()
        broken["nested-8x8"]["comity"].failures.append("killed by SIGSEGV")
        row = report.rows_of([CASE], SUITE, CONTENDERS, broken)[1]
        self.assertIn("MISS ≥ 150× libgomp", row[5])
        self.assertIn("SIGSEGV", row[3])

    def test_a_subject_whose_program_is_not_built_misses_nothing(self):
        absent = results()
        absent["nested-8x8"]["comity"] = Outcome()
        self.assertEqual(report.tally(SUITE, absent), {"issue": {"n/a": 1}, "anchor": {"n/a": 1}})

    def test_the_time_of_a_cache_line_is_given_with_its_range(self):
        self.assertEqual(machine.describe_transfers([190.4, 41.0, 45.2]), "45 ns (41 to 190 before the rows)")
        self.assertEqual(machine.describe_transfers([]), "")  # one core

    def test_the_section_names_conditions_settings_and_the_plot(self):
        text = report.markdown_report(SUITE, CONTENDERS, results(), {"machine": "a box, 2 cores"}, ["images/nested.png"])
        for part in ("machine: a box, 2 cores", "![Nested regions](images/nested.png)", "libgomp passive", "kernel_threads 2.00"):
            self.assertIn(part, text)

    def test_the_plot_shows_the_baselines_time_over_each(self):
        self.assertEqual(speedups(SUITE, ["comity"], results()), [("nested 8×8", {"comity": 200.0})])

    def test_the_plot_tells_rows_of_two_tables_apart(self):
        one, other = replace(CASE, name="a", group="Time"), replace(CASE, name="b", group="Processor time")
        both = {name: results()["nested-8x8"] for name in ("a", "b")}
        self.assertEqual([label for label, _ in speedups(replace(SUITE, cases=[one, other], baseline="libgomp"), ["comity"], both)],
                         ["Time: nested 8×8", "Processor time: nested 8×8"])

    def test_the_plot_shows_rows_of_times_whatever_the_record_calls_them(self):
        for metric, unit, shown in (("us_4", "µs", 1), ("seconds_more", "s", 1), ("kernel_threads", "", 0)):
            suite = replace(SUITE, cases=[replace(CASE, metric=metric, unit=unit)])
            self.assertEqual(len(speedups(suite, ["comity"], results())), shown, metric)


class ContenderTables(unittest.TestCase):
    """Of suites of many contenders: a row each, and what was promised below."""

    ROWS = [Case("one", "one worker", "Trees", "fib", contenders=("comity", "comity-sc", "tbb"), metric="seconds", unit="s",
                 bars=[Bar("ratio_at_most", 0.5, "tbb"), Bar("at_most", 9, who="comity-sc", source="anchor"), Bar("at_most", 1, "go")]),
            Case("two", "two workers", "Trees", "fib", contenders=("comity", "tbb"), metric="seconds", unit="s",
                 bars=[Bar("times_faster", 1.9, "comity", case="one"), Bar("ratio_at_most", 1, "*"), Bar("at_most", 1, who="comity-ss")]),
            Case("dot", "a point of a curve", "Trees", "fib", contenders=("comity",), metric="seconds", shown=False)]
    SUITE = Suite("threads", "Threads", ROWS, "comity", "comity", "What is what.", contenders_as_rows=True)
    TAKING_PART = {name: Contender(name, name.upper(), [Variant("only")]) for name in ("comity", "comity-sc", "tbb")}
    RESULTS = {"one": {"comity": Outcome("only", [4.0]), "comity-sc": Outcome("only", [10.0]), "tbb": Outcome("only", [16.0])},
               "two": {"comity": Outcome("only", [2.0]), "tbb": Outcome("only", [8.0])}, "dot": {"comity": Outcome("only", [7.0])}}

    def test_a_contender_has_a_row_and_a_case_a_column(self):
        rows = report.contender_rows(self.ROWS[:2], self.TAKING_PART, self.RESULTS)
        self.assertEqual(rows, [["", "one worker", "two workers"], ["COMITY", "4.00", "2.00"], ["COMITY-SC", "10.0", "–"],
                                ["TBB", "16.0", "8.00"]])

    def test_demands_of_those_that_took_part_are_judged(self):
        rows = report.demand_rows(self.ROWS[:2], self.TAKING_PART, self.RESULTS)
        self.assertEqual(rows[1:], [["one worker", "COMITY", "time ≤ 0.5 × tbb", "0.25", "PASS"],
                                    ["one worker", "COMITY-SC", "≤ 9 s (goal)", "10", "MISS"],
                                    ["two workers", "COMITY", "≥ 1.9× comity in one", "2", "PASS"],
                                    ["two workers", "COMITY", "time ≤ 1 × the best of *", "0.25", "PASS"]])

    def test_demands_on_the_absent_are_left_open(self):
        self.assertEqual(report.tally(self.SUITE, self.RESULTS), {"issue": {"PASS": 3, "n/a": 2}, "anchor": {"MISS": 1}})

    def test_points_of_curves_have_a_table_of_their_own(self):
        page = report.markdown_report(self.SUITE, self.TAKING_PART, self.RESULTS, {})
        self.assertIn("What is what.", page)
        self.assertIn("|  | COMITY |\n|---|---|\n| a point of a curve | 7.00 |\n", page)
        self.assertIn("a point of a curve", report.as_json(self.SUITE, self.RESULTS, {}))

    def test_the_plot_shows_each_cost_over_the_subjects(self):
        self.assertEqual(costs(self.SUITE, ["tbb"], self.RESULTS), [("one worker", {"tbb": 4.0}), ("two workers", {"tbb": 4.0})])


class Sections(unittest.TestCase):
    def test_a_section_is_appended_then_replaced_and_its_surroundings_stay(self):
        once = report.replace_section("# Performance\n", "nested", "first\n") + "\nwritten by hand\n"
        twice = report.replace_section(once, "nested", "second\n")
        self.assertNotIn("first", twice)
        self.assertEqual(twice.count("bench:nested begin"), 1)
        self.assertTrue(twice.startswith("# Performance\n\n<!-- bench:nested begin"))
        self.assertIn("second\n<!-- bench:nested end -->\n", twice)
        self.assertTrue(twice.endswith("written by hand\n"))
        self.assertEqual(report.replace_section(twice, "nested", "second\n"), twice)

    def test_sections_of_two_suites_do_not_touch(self):
        page = report.replace_section(report.replace_section("", "nested", "one\n"), "threads", "two\n")
        page = report.replace_section(page, "nested", "three\n")
        self.assertIn("two\n", page)
        self.assertIn("three\n", page)
        self.assertNotIn("one\n", page)

    def test_a_lost_end_marker_is_an_error_and_not_a_lost_page(self):
        page = report.replace_section("", "nested", "one\n").replace("<!-- bench:nested end -->", "")
        with self.assertRaises(ValueError):
            report.replace_section(page, "nested", "two\n")

    def test_files_are_written_where_the_page_expects_them(self):
        with tempfile.TemporaryDirectory() as folder:
            written = report.write_files(Path(folder), SUITE, "section\n", report.as_json(SUITE, results(), {"machine": "m"}))
            self.assertEqual([str(path.relative_to(folder)) for path in written], ["docs/results/nested.json", "docs/performance.md"])
            loaded = json.loads(written[0].read_text())
            self.assertEqual(loaded["cases"][0]["bars"][0]["verdict"], "PASS")
            self.assertEqual(loaded["cases"][0]["contenders"]["libgomp"]["times_comity"]["median"], 200)


if __name__ == "__main__":
    unittest.main()
