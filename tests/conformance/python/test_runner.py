"""The runner itself: reading what Python's runner reports, and whose a failure is."""
import unittest

import report
from execute import OURS, tests_in

REPORT = """<testsuites><testsuite>
<testcase name="test.test_a.T.test_good" status="run" result="completed"/>
<testcase name="test.test_a.T.test_bad"><failure>why</failure></testcase>
<testcase name="test.test_a.T.test_not_here"><skipped>why</skipped></testcase>
<testcase name="test.test_a.T.test_sub"/><testcase name="test.test_a.T.test_sub"><error>why</error></testcase>
</testsuite></testsuites>"""


def module(stock: dict, comity: dict, why: str = "") -> dict:
    return {"test_a": {"stock": {"tests": stock}, "comity": {"tests": comity, "why": why}}}


class Reading(unittest.TestCase):
    def test_each_test_has_its_verdict(self):
        self.assertEqual(tests_in(REPORT), {"test_a.T.test_good": "pass", "test_a.T.test_bad": "fail", "test_a.T.test_not_here": "skip",
                                            "test_a.T.test_sub": "fail"})

    def test_the_witness_is_comitys_own_line(self):
        self.assertTrue(OURS.search("x\ncomity: pthread_create: threads run on Comity's harts\n"))
        self.assertFalse(OURS.search("comity: pthread_create: a thread's attributes ask for a kernel thread of its own\n"))


class Verdict(unittest.TestCase):
    def test_only_what_passes_on_stock_can_be_a_failure(self):
        found = report.failures(module({"a": "pass", "b": "fail", "c": "pass", "d": "skip"}, {"a": "fail", "b": "fail", "c": "pass", "d": "fail"}),
                                {"tests": {"a*": "why"}})
        self.assertEqual([(one["test"], one["explained"]) for one in found], [("a", "why")])

    def test_what_a_module_did_not_come_to_is_a_failure(self):
        found = report.failures(module({"a": "pass"}, {}, "signal 11"), {"tests": {}})
        self.assertEqual([one["status"] for one in found], ["not run: signal 11"])

    def test_what_passes_on_comity_but_skips_is_one_too(self):
        self.assertEqual(len(report.failures(module({"a": "pass"}, {"a": "skip"}), {"tests": {}})), 1)


if __name__ == "__main__":
    unittest.main()
