"""The runner itself: reading glibc's makefiles, choosing tests, whose the threads were, explaining a failure."""
import tempfile
import unittest
from pathlib import Path

from posix_threads import report
from posix_threads.execute import KERNELS, OURS
from suite import all_tests

NPTL = "CFLAGS-tst-a1.c += -fexceptions \\\n\t-fasynchronous-unwind-tables $(other)\nLDLIBS-tst-b = -Wl,--no-as-needed -lstdc++\n"
SYSDEPS = "$(objpfx)tst-c: $(objpfx)tst-caux.o\n$(objpfx)tst-c.out: $(objpfx)tst-cmod.so\n$(objpfx)tst-d: $(objpfx)tst-dmod.so $(shared-thread-library)\n"


def tests() -> dict:
    folder = Path(tempfile.mkdtemp())
    for part, makefile, files in (("nptl", NPTL, ("tst-a1.c", "tst-b.cc", "tst-e-static.c")),
                                  ("sysdeps/pthread", SYSDEPS, ("tst-c.c", "tst-d.c", "tst-cmod.c", "tst-cleanup4aux.c", "tst-e-common.c", "other.c"))):
        (folder / part).mkdir(parents=True)
        (folder / part / "Makefile").write_text(makefile)
        for name in files:
            (folder / part / name).write_text("")
    return {case.name: case for case in all_tests(folder)}


def result(stock: str, comity: str, threads: str = "comity", creates: bool = True) -> dict:
    return {"stock": {"status": stock}, "comity": {"status": comity, "why": "", "threads": threads}, "creates": creates}


class Suite(unittest.TestCase):
    def test_modules_and_other_files_are_no_tests(self):
        self.assertEqual(sorted(tests()), ["tst-a1", "tst-b", "tst-c", "tst-d", "tst-e-static"])

    def test_flags_are_those_of_the_makefiles(self):
        found = tests()
        self.assertEqual(found["tst-a1"].flags, ["-fexceptions", "-fasynchronous-unwind-tables"])
        self.assertEqual(found["tst-b"].link, ["-Wl,--no-as-needed", "-lstdc++"])

    def test_a_module_is_loaded_or_linked(self):
        found = tests()
        self.assertEqual((found["tst-c"].modules, found["tst-c"].linked), (["tst-cmod"], []))
        self.assertEqual(found["tst-c"].objects, ["tst-caux"])
        self.assertEqual((found["tst-d"].modules, found["tst-d"].linked), (["tst-dmod"], ["tst-dmod"]))

    def test_what_is_linked_statically_is_not_run(self):
        self.assertTrue(tests()["tst-e-static"].unsupported)


class Verdict(unittest.TestCase):
    def test_the_witness_is_comitys_own_line(self):
        self.assertTrue(OURS.search("x\ncomity: pthread_create: threads run on Comity's harts\n"))
        self.assertFalse(OURS.search("comity: pthread_create: a thread's attributes ask for a kernel thread of its own\n"))
        self.assertTrue(KERNELS.search("comity: pthread_create: a thread's attributes ask for a kernel thread of its own\n"))

    def test_only_what_passes_on_stock_can_be_a_failure(self):
        found = report.failures({"a": result("pass", "fail"), "b": result("fail", "fail"), "c": result("pass", "pass")},
                                {"tests": {"a*": "why"}})
        self.assertEqual([(one["test"], one["explained"]) for one in found], [("a", "why")])

    def test_a_pass_without_a_thread_of_comitys_is_named(self):
        results = {"a": result("pass", "pass", ""), "b": result("pass", "pass", "kernel"), "c": result("pass", "pass"),
                   "d": result("pass", "pass", "", creates=False)}
        self.assertEqual([name for _, name in report.without_witness(results)], ["a", "b"])
        self.assertEqual(report.counts(results)["both, witnessed"], 1)

    def test_an_entry_for_what_passes_is_stale(self):
        self.assertEqual(report.stale({"a": result("pass", "pass")}, {"tests": {"a": "why", "b": "why"}}), ["a"])


if __name__ == "__main__":
    unittest.main()
