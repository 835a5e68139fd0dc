"""COMITY_OMP_CHECK names what the specification forbids, in one line, and ends the program; without it nothing is said. Called with the
drop-in's path, the compiler (gcc or clang), the path of the program `nesting` as that compiles it, then unittest's arguments.
"""
import os
import re
import signal
import subprocess
import sys
import unittest

drop_in, compiler, program = sys.argv[1:4]
by_gcc = compiler == "gcc"

WHERE = r"at (\w+ \()?[\w.]+\+0x[0-9a-f]+\)?"
NAMES = {"barrier": "a barrier", "loop": "a worksharing loop", "ordered_loop": "a worksharing loop", "static_loop": "a worksharing loop",
         "doacross": "a worksharing loop",
         "sections": "a sections region", "single": "a single region", "critical": "a critical region", "other_critical": "a critical region",
         "ordered": "an ordered region", "master": "a master or masked region", "task": "an explicit task"}
OUTER = ("loop", "static_loop", "ordered_loop", "doacross", "sections", "single", "critical", "other_critical", "ordered", "master", "task")
INNER = ("barrier", "loop", "static_loop", "sections", "single", "ordered", "master", "critical")
# gcc makes no call where these begin, or none where they end.
UNSEEN = ("static_loop", "single", "master") if by_gcc else ()


def run(*arguments, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_", "COMITY_"))}
    env = clean | {"LD_PRELOAD": drop_in, "COMITY_HARTS": "2", "COMITY_OMP_CHECK": "1"} | variables
    return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=50)


def expected(outer, inner):
    """What is said of `inner` closely nested in `outer`; None: nothing, though it may be wrong."""
    if inner == "critical":
        return f"comes to a critical region {WHERE}, in one of the same name that it entered {WHERE}: it would wait for ever$" \
            if outer == "critical" else None
    if inner == "ordered":
        if outer == "ordered_loop":
            return None
        if outer in ("loop", "static_loop", "doacross", "task") or outer in UNSEEN:
            return f"comes to an ordered region {WHERE}, which is not in a loop with the clause ordered$"
        return f"comes to an ordered region {WHERE}, in {NAMES[outer]} that it entered {WHERE}: it may only be in a loop with the clause ordered$"
    if inner == "master" and (by_gcc or outer in ("critical", "other_critical", "master")):
        return None
    shown = "barrier" if inner == "static_loop" and by_gcc else inner  # what is seen of it
    if outer in UNSEEN:
        # Every thread has the loop's iterations, so all come to as many barriers.
        return None if outer == "static_loop" else f"waits at the barrier {WHERE}, to which thread [012] of 3 does not come: its part of the region is over"
    if outer == "task":
        return f"comes to {NAMES[shown]} {WHERE}, in an explicit task: that may not be nested so$"
    around = NAMES["loop" if (outer, inner) == ("ordered", "master") else outer]
    return f"comes to {NAMES[shown]} {WHERE}, in {around} that it entered {WHERE}: that may not be nested so$"


class nesting(unittest.TestCase):
    def expect(self, said, *arguments, **variables):
        done = run(*arguments, **variables)
        if said is None:
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "went on\n", ""))
            return
        self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, "^comity: COMITY_OMP_CHECK: thread [0-9]+ of [0-9]+( at level [0-9]+)? " + said)

    def test_regions_that_may_not_be_in_each_other(self):
        for outer in OUTER:
            for inner in INNER:
                with self.subTest(outer=outer, inner=inner):
                    self.expect(expected(outer, inner), outer, inner)

    def test_directly_in_a_region_all_may_be_but_ordered(self):
        for inner in INNER:
            with self.subTest(inner):
                self.expect("comes to an ordered region " if inner == "ordered" else None, "parallel", inner)

    def test_a_region_of_its_own_is_around_what_is_in_it(self):
        for outer in OUTER:
            for inner in ("barrier", "loop", "sections", "single", "master"):
                for levels in ("1", "9"):
                    with self.subTest(outer=outer, inner=inner, levels=levels):
                        self.expect(None, outer, "region", inner, OMP_MAX_ACTIVE_LEVELS=levels)

    def test_critical_regions_of_one_name_are_not_in_each_other_through_regions_either(self):
        self.expect(f"comes to a critical region {WHERE}, in one of the same name that thread [012] of 3 entered", "critical", "region",
                    "critical", OMP_MAX_ACTIVE_LEVELS="9")

    def test_locks(self):
        for name, said in (("set_twice", f"sets a lock {WHERE} that it has set already: it would wait for ever"),
                           ("unset_free", f"unsets a lock {WHERE} that is not set"),
                           ("unset_by_another", f"unsets a lock {WHERE} that another thread has set"),
                           ("destroy_held", f"calls omp_destroy_lock {WHERE} for a lock that is set"),
                           ("unset_free_nested", f"unsets a nested lock {WHERE} that is not set"),
                           ("unset_nested_by_another", f"unsets a nested lock {WHERE} that another thread has set"),
                           ("destroy_held_nested", f"calls omp_destroy_nest_lock {WHERE} for a lock that is set")):
            with self.subTest(name):
                self.expect(said + "$", name)

    def test_barriers_that_not_all_come_to_are_told_apart(self):
        self.expect(f"waits at the barrier {WHERE}, to which thread 1 of 2 does not come: its part of the region is over; before, it was at "
                    f"the barrier {WHERE} when the other was {WHERE}$", "other_barriers")

    def test_a_wrong_place_can_be_looked_up(self):
        done = run("critical", "critical")
        offset = re.search(r"comes to a critical region at \S+\+(0x[0-9a-f]+),", done.stderr)[1]
        found = subprocess.run(["addr2line", "-f", "-e", program, offset], capture_output=True, text=True)
        self.assertRegex(found.stdout, r"^critical\n.*nesting\.c:\d+")

    def test_it_is_off_by_default(self):
        for variables in ({"COMITY_OMP_CHECK": "0"}, {"COMITY_OMP_CHECK": "0", "KMP_CONSISTENCY_CHECK": "none"}):
            for name in ("unset_free", "unset_by_another", "destroy_held"):
                self.expect(None, name, **variables)
            self.expect(None, "parallel", "ordered", **variables)

    def test_the_originals_variable_switches_it_on(self):
        self.expect("unsets a lock", "unset_free", COMITY_OMP_CHECK="0", KMP_CONSISTENCY_CHECK="All")
        done = run("unset_free", COMITY_OMP_CHECK="0", KMP_CONSISTENCY_CHECK="some")
        self.assertEqual((done.returncode, done.stderr), (0, 'comity: KMP_CONSISTENCY_CHECK="some": not all or none; using none\n'))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
