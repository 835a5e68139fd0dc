"""The order of the runs, the choice of a contender's best setting, and what a failure does. run_program is replaced by a table."""
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

import harness_path  # noqa: F401
from harness import machine, session
from harness.model import Case, Contender, Run, Variant
from harness.session import Outcome, Session, Settings, values_of

CASE = Case("row", "a row", "group", "/prog", contenders=("libgomp", "comity", "absent"), repeats=1, sampled=False)
PEER = Contender("libgomp", "libgomp", [Variant("slow", {"V": "slow"}), Variant("fast", {"V": "fast"}), Variant("broken", {"V": "broken"}),
                                        Variant("rare", {"V": "rare"}, quick=False)])
SUBJECT = Contender("comity", "Comity", [Variant("run", {"V": "run"})])
TIMES = {"slow": 20.0, "fast": 10.0, "rare": 5.0, "run": 1.0}


class SessionCase(unittest.TestCase):
    def run_session(self, answer, contenders=(PEER, SUBJECT), case=CASE, **settings):
        self.ran = []

        def fake(command, environment, timeout, runtime=None):
            self.ran.append(environment["V"])
            return answer(environment["V"], list(command))

        made = Session(Settings(Path("/build/bench"), **{"patience": 0, **settings}), {one.name: one for one in contenders}, lambda text: None)
        with mock.patch.object(session, "run_program", fake), mock.patch.object(Path, "exists", lambda path: True):
            return made.measure([case])[case.name]

    @staticmethod
    def table(variant, command):
        return Run(record={"us": TIMES[variant]}) if variant in TIMES else Run(failure="exit status 1")


class Sessions(SessionCase):
    def test_the_fastest_setting_represents_a_contender(self):
        outcomes = self.run_session(self.table, repeats=3)
        self.assertEqual(outcomes["libgomp"].variant, "rare")
        self.assertEqual(outcomes["libgomp"].values, [5.0, 5.0, 5.0])
        self.assertEqual(outcomes["libgomp"].trial["broken"], "exit status 1")
        self.assertNotIn("absent", outcomes)

    def test_quick_leaves_out_the_rare_settings(self):
        self.assertEqual(self.run_session(self.table, repeats=3, quick=True)["libgomp"].variant, "fast")
        self.assertNotIn("rare", self.ran)

    def test_contenders_alternate_and_take_turns_to_be_first(self):
        self.run_session(self.table, repeats=4)
        self.assertEqual(self.ran[4:], ["rare", "run", "run", "rare", "rare", "run", "run", "rare"])

    def test_who_prepares_a_row_runs_first_and_that_run_does_not_count(self):
        case = Case("row", "a row", "group", "/prog", contenders=("libgomp", "comity"), sampled=False, prepared_by="comity")
        outcomes = self.run_session(self.table, case=case, repeats=3)
        self.assertEqual((self.ran[0], self.ran.count("run"), len(outcomes["comity"].values)), ("run", 4, 3))

    def test_a_contender_that_never_runs_keeps_the_reasons(self):
        outcomes = self.run_session(lambda variant, command: Run(record={"us": 1.0}) if variant == "run" else Run(failure="crash"),
                                    repeats=3)
        self.assertEqual(outcomes["libgomp"].values, [])
        self.assertIn("slow: crash", outcomes["libgomp"].failures)
        self.assertEqual(len(outcomes["comity"].values), 3)

    def test_a_contender_without_a_program_takes_no_part(self):
        said = []
        made = Session(Settings(Path("/build/bench"), patience=0), {"comity": SUBJECT}, said.append)
        outcome = made.measure([Case("row", "a row", "group", "none", contenders=("comity",), sampled=False)])["row"]["comity"]
        self.assertEqual((outcome.values, outcome.failures), ([], []))
        self.assertEqual(said, ["  row comity: its program is not built"])

    def test_a_preparation_that_fails_is_said(self):
        said = []
        case = Case("row", "a row", "group", "/prog", contenders=("comity",), sampled=False, prepared_by="comity")
        made = Session(Settings(Path("/build/bench"), repeats=3, patience=0), {"comity": SUBJECT}, said.append)
        with mock.patch.object(session, "run_program", lambda *_: Run(failure="no end")), mock.patch.object(Path, "exists", lambda path: True):
            made.measure([case])
        self.assertEqual(said[0], "  row: comity could not prepare it: no end")

    def test_what_is_run_is_said_as_it_begins(self):
        said = []
        made = Session(Settings(Path("/build/bench"), repeats=3, patience=0), {"comity": SUBJECT}, lambda text: None, said.append)
        with mock.patch.object(session, "run_program", lambda *_: Run(record={"us": 1.0})), mock.patch.object(Path, "exists", lambda path: True):
            made.measure([CASE])
        self.assertEqual(said, [f"row: comity, {number} of 3" for number in (1, 2, 3)])

    def test_instructions_are_counted_in_few_short_runs_and_not_of_slow_contenders(self):
        counted = []
        case = Case("row", "a row", "group", "/prog", contenders=("libgomp", "comity"), sampled=False, regions=1600, once=["libgomp"],
                    fixed_variant=True)

        class Counter:
            is_slow = False

            def count(self, command, environment, timeout):
                counted.append(command[-1])
                return 1000 + 7 * int(command[-1])

        def run(case, counter):
            counted.clear()
            return self.run_session(lambda variant, command: Run(record={"us": 1.0}), case=case, repeats=3, counter=counter)

        outcomes = run(case, Counter())
        self.assertEqual((counted, outcomes["comity"].instructions, outcomes["libgomp"].instructions), (["100", "1600"], 7, None))
        slow = Counter()
        slow.is_slow = True
        self.assertEqual((run(case, slow)["comity"].instructions, counted), (None, []))
        self.assertEqual((run(replace(case, simulated=True), slow)["comity"].instructions, counted), (7, ["10", "160"]))

    def test_a_record_without_the_metric_is_a_failure(self):
        outcomes = self.run_session(lambda variant, command: Run(record={"other": 1.0}), contenders=(SUBJECT,), repeats=3)
        self.assertEqual(outcomes["comity"].failures, ["printed no us"] * 3)

    def test_all_get_the_same_calibrated_work(self):
        commands = []
        case = Case("row", "a row", "group", "/prog", ["--alpha", "1"], ("libgomp", "comity"), needs_rate=True, sampled=False)
        self.run_session(lambda variant, command: commands.append(command) or self.table(variant, command), case=case, repeats=3,
                         loop_rate=0.5)
        self.assertEqual({tuple(command) for command in commands}, {("/prog", "--alpha", "1", "--rate", "0.500000000")})


class Together(SessionCase):
    """Rows whose metrics are all in one record."""

    ROWS = [Case("first", "", "group", "/prog", contenders=("libgomp", "comity"), metric="a", sampled=False, together="both",
                 once=["libgomp"], fixed_variant=True),
            Case("second", "", "group", "/prog", contenders=("comity",), metric="b", sampled=False, together="both", fixed_variant=True)]

    def measure(self, record, rows=ROWS):
        self.ran = []

        def fake(command, environment, timeout, runtime=None):
            self.ran.append(environment["V"])
            return Run(record=dict(record))

        made = Session(Settings(Path("/build/bench"), repeats=3, patience=0), {one.name: one for one in (PEER, SUBJECT)}, lambda text: None)
        with mock.patch.object(session, "run_program", fake), mock.patch.object(Path, "exists", lambda path: True):
            return made.measure(rows)

    def test_one_process_a_contender_and_round_serves_all_rows(self):
        outcomes = self.measure({"a": 1.0, "b": 2.0})
        self.assertEqual(outcomes["first"]["comity"].values, [1.0, 1.0, 1.0])
        self.assertEqual(outcomes["second"]["comity"].values, [2.0, 2.0, 2.0])
        self.assertNotIn("libgomp", outcomes["second"])
        self.assertEqual(self.ran.count("run"), 3)

    def test_a_slow_contender_runs_once(self):
        self.assertEqual(self.measure({"a": 1.0, "b": 2.0})["first"]["libgomp"].values, [1.0])
        self.assertEqual(self.ran.count("slow"), 1)

    def test_a_metric_that_is_missing_fails_its_row_only(self):
        outcomes = self.measure({"a": 1.0})
        self.assertEqual(outcomes["first"]["comity"].failures, [])
        self.assertEqual(outcomes["second"]["comity"].failures, ["printed no b"] * 3)

    def test_what_does_not_vary_is_run_as_often_as_it_says(self):
        case = Case("row", "", "group", "/prog", contenders=("comity",), metric="a", sampled=False, rounds=1)
        self.assertEqual(self.measure({"a": 1.0}, [case])["row"]["comity"].values, [1.0])


class Commands(SessionCase):
    def test_a_library_has_a_program_of_its_own_and_further_arguments(self):
        commands = []
        case = Case("row", "", "group", "fib", ["--workers", "2"], ("comity",), sampled=False, fixed_variant=True, quick=["--short", "1"])
        ours = Contender("comity", "Comity", [Variant("run", {"V": "run"}, library="comity", arguments=["--technique", "sc"])])
        self.run_session(lambda variant, command: commands.append(command) or self.table(variant, command), [ours], case, repeats=3,
                         quick=True, prefix=["nice"])
        self.assertEqual(commands[0], ["nice", "/build/bench/fib/comity", "--workers", "2", "--technique", "sc", "--short", "1"])

    def test_a_row_for_some_cores_is_bound_to_them(self):
        commands = []
        case = Case("row", "", "group", "fib", [], ("comity",), sampled=False, fixed_variant=True, cores=1)
        ours = Contender("comity", "Comity", [Variant("run", {"V": "run"})])
        self.run_session(lambda variant, command: commands.append(command) or self.table(variant, command), [ours], case)
        self.assertEqual(commands[0], ["taskset", "-c", machine.processors(1), "/build/bench/fib"])


class Disturbed(SessionCase):
    """Runs that other processes disturbed, by the cores that these took."""

    def disturbed_session(self, runs, patience=1):
        runs = iter(runs)
        with mock.patch.object(session.quiet, "wait", lambda limit: True):
            return self.run_session(lambda variant, command: Run(record={"us": (one := next(runs))[0]}, others=one[1]),
                                    contenders=(SUBJECT,), repeats=3, patience=patience)["comity"]

    def test_a_disturbed_run_is_repeated(self):
        outcome = self.disturbed_session([(9.0, 0.9), (1.0, 0.0), (2.0, 0.1), (3.0, None)])
        self.assertEqual((outcome.values, outcome.disturbed), ([1.0, 2.0, 3.0], 0))

    def test_after_three_tries_the_least_disturbed_counts_not_the_fastest(self):
        outcome = self.disturbed_session([(1.0, 0.9), (5.0, 0.5), (2.0, 0.7), (1.0, 0.0), (1.0, 0.0)])
        self.assertEqual((outcome.values, outcome.disturbed), ([5.0, 1.0, 1.0], 1))

    def test_without_patience_every_run_counts(self):
        outcome = self.disturbed_session([(9.0, 0.9), (1.0, 0.0), (2.0, 0.1)], patience=0)
        self.assertEqual((outcome.values, outcome.disturbed), ([9.0, 1.0, 2.0], 1))


class Values(unittest.TestCase):
    def test_one_failure_disqualifies_the_subject_but_not_a_peer(self):
        outcomes = {"comity": Outcome(values=[1.0, 1.0], failures=["hang"]), "libgomp": Outcome(values=[2.0], failures=["crash"])}
        self.assertEqual(set(values_of(outcomes, ("comity",))), {"libgomp"})


if __name__ == "__main__":
    unittest.main()
