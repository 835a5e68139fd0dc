"""The runner itself: reading directives, choosing targets, judging a run, explaining a failure."""
import tempfile
import unittest
from pathlib import Path

import source
from by_reason import by_reason
from directives import reader, test_case
from execute import BINDING, _judge, execute
from targets import target
from tcl import parse_list, tcl_error
from verdict import expectations, failures, group

X86 = target("c", "x86_64", {"sse2"})


def read(text: str, language: str = "c", variant: str = "") -> test_case:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "t.c")
        file.write_text(text)
        return reader(test_case("t", language, file, variant), target(language, "x86_64", {"sse2"}), ["-O2"]).read()


class Tcl(unittest.TestCase):
    def test_words_in_braces_are_kept_and_quoted_ones_are_unescaped(self):
        self.assertEqual(parse_list(r'dg-output "a(\n|\\\[)" { target { a || b } }'),
                         ["dg-output", "a(\n|\\[)", " target { a || b } "])

    def test_an_open_quote_or_brace_is_an_error(self):
        for text in ('a "b', "a { b"):
            with self.assertRaises(tcl_error):
                parse_list(text)


class Targets(unittest.TestCase):
    def test_selectors_combine_triplets_and_effective_targets(self):
        for selector, value in (("*-*-*", True), ("*-*-linux* *-*-gnu*", True), ("{ i?86-*-* x86_64-*-* } && lp64", True),
                                ("{ i?86-*-* x86_64-*-* } && ia32", False), ("! run_expensive_tests", True),
                                ("lp64 && { ! lp64 }", False), ("! *-*-*", False), ("sse2_runtime", True), ("avx_runtime", False),
                                ("offload_target_nvptx || c", True)):
            self.assertEqual(X86.selected(selector), value, selector)

    def test_an_unknown_effective_target_is_an_error_not_a_guess(self):
        with self.assertRaises(ValueError):
            X86.selected("quantum")


class Directives(unittest.TestCase):
    def test_options_replace_the_default_and_additional_ones_follow(self):
        case = read('/* { dg-options "-O0 -g" } */\n/* { dg-additional-options "-msse2" { target sse2_runtime } } */\n'
                    '/* { dg-additional-options "-mavx" { target avx_runtime } } */')
        self.assertEqual(case.options, ["-O0", "-g", "-msse2"])

    def test_options_for_another_language_leave_the_default(self):
        self.assertEqual(read('/* { dg-options "-std=c99" { target c } } */', "c++").options, ["-O2"])

    def test_environment_timeout_output_and_expected_failure(self):
        case = read('// { dg-set-target-env-var OMP_PLACES "{6,7}:4:-2,!{2,3}" }\n// { dg-timeout 10 }\n'
                    '// { dg-shouldfail "" }\n// { dg-output "a(\\n|\\r)" }')
        self.assertEqual((case.environment, case.timeout, case.should_fail, case.outputs),
                         ({"OMP_PLACES": "{6,7}:4:-2,!{2,3}"}, 10.0, True, ["a(\n|\r)"]))

    def test_what_needs_a_device_is_unsupported(self):
        self.assertIn("offload_device", read("/* { dg-require-effective-target offload_device } */").unsupported)
        self.assertIn("nvptx", read("/* { dg-do run { target offload_target_nvptx } } */").unsupported)
        self.assertEqual(read("/* { dg-do run } */").unsupported, "")

    def test_expensive_tests_run_at_the_excluded_levels_only(self):
        text = '! { dg-skip-if "" { ! run_expensive_tests } { "*" } { "-O0" "-O2" } }'
        self.assertEqual(read(text, "fortran", "-O2").unsupported, "")
        self.assertIn("dg-skip-if", read(text, "fortran", "-O3 -g").unsupported)

    def test_an_unknown_directive_is_an_error_not_ignored(self):
        with self.assertRaises(ValueError):
            read("/* { dg-unheard-of 1 } */")


class Judging(unittest.TestCase):
    def setUp(self):
        self.case = test_case("t", "c", Path("t.c"))

    def test_exit_status_signal_and_time(self):
        self.assertEqual(_judge(self.case, 0, "")[0], "pass")
        self.assertEqual(_judge(self.case, 1, ""), ("fail", "exit status 1"))
        self.assertEqual(_judge(self.case, -6, ""), ("fail", "killed by SIGABRT"))
        self.assertEqual(_judge(self.case, None, "")[0], "timeout")

    def test_a_test_that_should_fail_must_also_say_why(self):
        self.case.should_fail, self.case.outputs = True, ["fatal error: my message"]
        self.assertEqual(_judge(self.case, 1, "libgomp: fatal error: my message\n")[0], "pass")
        self.assertEqual(_judge(self.case, 1, "comity: GOMP_error: not there\n")[0], "fail")
        self.assertEqual(_judge(self.case, 0, "fatal error: my message")[0], "fail")
        self.case.outputs = []
        self.assertEqual(_judge(self.case, 1, "comity: GOMP_error: not there\n"), ("fail", "Comity refused"))

    def test_a_hanging_program_and_its_children_are_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "hang")
            program.write_text("#!/bin/sh\nsleep 1000 & sleep 1000\n")
            program.chmod(0o755)
            done = execute(self.case, program, None, 0.3)
        self.assertEqual((done.status, done.calls), ("timeout", []))
        self.assertLess(done.seconds, 10)

    def test_the_witness_is_the_linkers_line_for_a_call(self):
        line = "  12:\tbinding file ./t [0] to /x/comity/libgomp.so.1 [0]: normal symbol `GOMP_parallel' [GOMP_4.0]"
        self.assertEqual(BINDING.search(line).groups(), ("./t", "/x/comity/libgomp.so.1", "GOMP_parallel"))


def results_of(comity: dict) -> dict:
    stock = {"status": "pass", "why": "", "calls": ["GOMP_parallel"], "output": ""}
    return {"c/t.c": {"language": "c", "kind": "run", "needs": [], "stock": stock,
                      "comity": {"status": "fail", "why": "killed by SIGABRT", "calls": [], "output": "", **comity}}}


class Verdict(unittest.TestCase):
    def test_a_loud_symbol_in_the_table_explains_and_another_does_not(self):
        known = expectations({"GOMP_target*": "target constructs"}, {})
        self.assertIn("target constructs", failures(results_of({"output": "x\ncomity: GOMP_target_ext: no\n"}), known)[0]["explained"])
        self.assertEqual(failures(results_of({"output": "comity: GOMP_parallel: no\n"}), known)[0]["explained"], "")
        self.assertEqual(failures(results_of({}), known)[0]["explained"], "")

    def test_what_fails_on_stock_too_is_no_failure_of_comity(self):
        results = results_of({})
        results["c/t.c"]["stock"]["status"] = "fail"
        self.assertEqual(failures(results, expectations({}, {})), [])

    def test_an_entry_for_a_test_that_passes_is_stale(self):
        known = expectations({}, {"c/t.c": "because"})
        self.assertEqual(known.stale(results_of({"status": "pass"})), ["c/t.c"])
        self.assertEqual(known.stale(results_of({})), [])

    def test_groups(self):
        self.assertEqual([group({"kind": "run", "unsupported": "x"}), group({"kind": "link"}), group({"kind": "run", "skip": "x"}),
                          group(results_of({})["c/t.c"])], ["unsupported", "compile", "skip", "run"])


class Source(unittest.TestCase):
    def test_the_machines_debian_mirrors_become_source_repositories(self):
        with tempfile.TemporaryDirectory() as folder:
            lists = Path(folder, "sources.list.d")
            lists.mkdir()
            (lists / "debian.sources").write_text("Types: deb\n# a remark\nURIs: http://mirror/debian\nSuites: bookworm\n")
            (lists / "other.sources").write_text("Types: deb\nURIs: https://example.org/node\nSuites: x\n")
            Path(folder, "sources.list").write_text("deb [arch=amd64] http://mirror/debian bookworm main\ndeb https://example.org x y\n")
            self.assertEqual(source.source_list(Path(folder)),
                             {"debian.sources": "Types: deb-src\nURIs: http://mirror/debian\nSuites: bookworm\n",
                              "mirrors.list": "deb-src [arch=amd64] http://mirror/debian bookworm main\n"})

    def test_without_a_mirror_debians_own_server_is_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("deb.debian.org", source.source_list(Path(folder))["mirrors.list"])


class reasons(unittest.TestCase):
    def test_names_stand_on_lines_that_can_be_read(self):
        names = [f"c/examples-4/async_target-{number}.c" for number in range(40)]
        lines = by_reason([("rare", "a"), *(("needs more", name) for name in names)])
        self.assertLessEqual(max(map(len, lines)), 400)
        self.assertEqual(lines[0], "- needs more: 40  ")
        self.assertEqual(lines[-2:], ["- rare: 1  ", "  `a`"])

    def test_no_name_is_lost_and_none_is_on_two_lines(self):
        names = [f"pthread_attr_setinheritsched/{number}-2" for number in range(40)]
        lines = by_reason([("why", name) for name in names])[1:]
        self.assertEqual([name.strip("`") for line in lines for name in line.strip().rstrip(",").split(", ")], names)

    def test_no_entries_are_told(self):
        self.assertEqual(by_reason([]), ["None."])


if __name__ == "__main__":
    unittest.main()
