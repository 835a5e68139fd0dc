"""The registry is well formed, and holds every promise of the project about nested regions."""
import unittest

import harness_path
from harness.bars import KINDS
from harness.machine import distribution, processor_name
from harness.registry import SUITES

CASES = [case for suite in SUITES.values() for case in suite.cases]
PROMISES = {
    "flat-2": {("ratio_at_most", "libgomp-default", 1.05)},
    "flat-8": {("times_faster", "libgomp-default", 25)},
    "flat-56": {("times_faster", "libgomp-default", 25)},
    "nested-8x8": {("times_faster", "libgomp", 150), ("times_faster", "libomp", 15)},
    "nested-56x56": {("times_faster", "libgomp", 300), ("times_faster", "libomp", 40)},
    "recursion-5": {("times_faster", "libgomp", 250), ("times_faster", "libomp", 40)},
    "startup-true": {("added_at_most", "plain", 5)},
    "startup-compute": {("ratio_at_most", "plain", 1.01)},
}


class Registry(unittest.TestCase):
    def test_names_are_unique_within_a_suite(self):
        for suite in SUITES.values():
            names = [case.name for case in suite.cases]
            self.assertEqual(len(names), len(set(names)))

    def test_bars_use_known_kinds_and_contenders_of_their_row(self):
        for case in CASES:
            for bar in case.bars:
                self.assertIn(bar.kind, KINDS)
                self.assertIn(bar.who, case.contenders)
                self.assertIn(bar.source, ("issue", "anchor"))
                if bar.peer is not None:
                    self.assertIn(bar.peer, case.contenders)

    def test_every_program_has_its_source(self):
        for case in CASES:
            if not case.program.startswith("/"):
                self.assertTrue((harness_path.REPOSITORY / "bench" / f"{case.program}.cpp").is_file(), case.program)

    def test_the_promises_stand(self):
        found = {case.name: {(bar.kind, bar.peer, bar.limit) for bar in case.bars if bar.source == "issue"} for case in CASES}
        for name, promises in PROMISES.items():
            self.assertEqual(found[name], promises, name)


class Machine(unittest.TestCase):
    def test_the_processor_is_named(self):
        self.assertEqual(processor_name("processor: 0\nmodel name\t: A Processor\n"), "A Processor")
        self.assertTrue(processor_name(""))

    def test_the_distribution_is_named(self):
        self.assertEqual(distribution('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'), "Debian GNU/Linux 12 (bookworm)")


if __name__ == "__main__":
    unittest.main()
