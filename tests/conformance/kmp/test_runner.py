"""The runner itself: reading directives, making a test's script, explaining a failure."""
import tempfile
import unittest
from pathlib import Path

import report
from suite import FEATURES, LLVM, read, script, test_case


def case_of(text: str, name: str = "tasking/t.c") -> test_case:
    folder = Path(tempfile.mkdtemp()) / "test" / Path(name).parent
    folder.mkdir(parents=True)
    file = folder / Path(name).name
    file.write_text(text)
    return read(test_case(name, file))


class Directives(unittest.TestCase):
    def test_lines_that_continue_are_one(self):
        case = case_of("// RUN: %libomp-compile && env A=1 \\\n// RUN:   %libomp-run | FileCheck %s\n// RUN: %libomp-run 2\n")
        self.assertEqual(case.lines, ["%libomp-compile && env A=1 %libomp-run | FileCheck %s", "%libomp-run 2"])

    def test_features_rule_out_and_expect_failures(self):
        self.assertTrue(case_of("// RUN: x\n// REQUIRES: hwloc\n").unsupported)
        self.assertFalse(case_of("// RUN: x\n// REQUIRES: ompt, linux\n").unsupported)
        self.assertTrue(case_of("// RUN: x\n// UNSUPPORTED: icc, clang\n").unsupported)
        self.assertFalse(case_of("// RUN: x\n// UNSUPPORTED: gcc-4, clang-4, clang-13,\n").unsupported)
        self.assertTrue(case_of("// RUN: x\n// XFAIL: clang-14\n").should_fail)
        self.assertFalse(case_of("// RUN: x\n// XFAIL: gcc\n").should_fail)
        self.assertIn("clang-14", FEATURES)

    def test_an_unknown_feature_is_an_error_not_a_guess(self):
        with self.assertRaises(ValueError):
            case_of("// RUN: x\n// REQUIRES: quantum\n")


class Scripts(unittest.TestCase):
    def test_substitutions_leave_nothing_to_lit(self):
        case = case_of("// RUN: %libomp-cxx-compile-and-run 2>&1 | %sort-threads | FileCheck %s\n")
        text = script(case, Path("/f"))
        self.assertIn(f"{LLVM}/bin/clang++ -w -fopenmp", text)
        self.assertIn(f"-o /f/test -lm -latomic && /f/test 2>&1 | sort -n -s | tee /f/test.out | {LLVM}/bin/FileCheck {case.source}", text)
        self.assertNotIn("%", text)

    def test_formats_of_the_program_are_not_touched(self):
        case = case_of("// RUN: %libomp-compile && env OMP_AFFINITY_FORMAT='tl:%L tn:%n' %libomp-run\n")
        self.assertIn("'tl:%L tn:%n' /f/test", script(case, Path("/f")))

    def test_an_unknown_substitution_is_an_error(self):
        with self.assertRaises(ValueError):
            script(case_of("// RUN: %quantum-run\n"), Path("/f"))


class Verdicts(unittest.TestCase):
    KNOWN = {"symbols": {"__kmp_acquire_*": "internals"}, "tests": {"ompt/*": "tools"}}

    def results(self, name: str, status: str, output: str = "", stock: str = "pass") -> dict:
        return {name: {"stock": {"status": stock, "why": ""}, "comity": {"status": status, "why": "exit status 1", "output": output}}}

    def test_a_failure_is_explained_by_its_message_or_its_name(self):
        loud = "comity: __kmp_acquire_tas_lock: not served yet\n"
        for results, reason in ((self.results("lock/a.c", "fail", loud), "internals (`__kmp_acquire_tas_lock`)"),
                                (self.results("ompt/b.c", "fail"), "tools"), (self.results("lock/c.c", "timeout"), "")):
            self.assertEqual([one["explained"] for one in report.failures(results, self.KNOWN)], [reason])

    def test_what_fails_on_stock_as_well_is_no_failure_of_comity(self):
        self.assertEqual(report.failures(self.results("lock/a.c", "fail", stock="fail"), self.KNOWN), [])

    def test_entries_for_tests_that_pass_are_stale(self):
        self.assertEqual(report.stale(self.results("ompt/a.c", "pass"), self.KNOWN), ["ompt/*"])
        self.assertEqual(report.stale(self.results("ompt/a.c", "fail"), self.KNOWN), [])


if __name__ == "__main__":
    unittest.main()
