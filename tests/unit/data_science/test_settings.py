"""The table of programs agrees with the files, each has its tunings, and what hangs runs only when asked for."""
import ast
import re
import unittest

from data_science_path import FOLDER
from study.settings import AFTER_FORK, COMITY, DEFAULTS, KNOBS, PROGRAMS, TUNINGS, Program, chosen, settings

FILES = {path.stem: path for path in (FOLDER / "programs").glob("*.py") if path.stem != "timing"}
PLAIN = Program("plain", "plain", ("a", "b"))
FORKING = Program("forking", "forking", ("a", "BLAS 1"), AFTER_FORK)


class Programs(unittest.TestCase):
    def test_each_program_has_a_file_and_each_file_a_program(self):
        self.assertEqual(sorted(program.name for program in PROGRAMS), sorted(FILES))

    def test_each_file_says_in_one_line_what_it_does(self):
        for name, path in FILES.items():
            documentation = ast.get_docstring(ast.parse(path.read_text()))
            self.assertTrue(documentation and "\n" not in documentation, name)

    def test_tunings_have_environments_that_differ(self):
        for program in PROGRAMS:
            environments = [tuple(sorted(TUNINGS[name].items())) for name in program.tunings]
            self.assertEqual(len(set(environments)), len(environments), program.name)

    def test_what_the_programs_read_is_removed_from_the_users_environment(self):
        for name, path in FILES.items():
            for knob in re.findall(r'number\("(\w+)"', path.read_text()):
                self.assertIn(knob, KNOBS, name)

    def test_packages_are_pinned(self):
        lines = [line for line in (FOLDER / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^[\w-]+==[\d.]+$")

    def test_only_the_named_programs_are_chosen_in_the_order_of_the_table(self):
        first, second = PROGRAMS[0].name, PROGRAMS[1].name
        self.assertEqual([program.name for program in chosen([second, first])], [first, second])
        self.assertEqual(chosen(None), list(PROGRAMS))


class Turns(unittest.TestCase):
    def test_defaults_are_first_and_the_others_begin_with_another_one(self):
        self.assertEqual(settings(PLAIN, 0, False), [DEFAULTS, "a", "b", COMITY])
        self.assertEqual(settings(PLAIN, 1, False), [DEFAULTS, "b", COMITY, "a"])
        self.assertEqual(settings(PLAIN, 3, False), [DEFAULTS, "a", "b", COMITY])

    def test_what_hangs_is_tried_only_when_asked_for(self):
        self.assertEqual(settings(FORKING, 0, False), ["a", COMITY])
        self.assertEqual(settings(FORKING, 0, True), [DEFAULTS, "a", "BLAS 1", COMITY])


if __name__ == "__main__":
    unittest.main()
