"""Which place each thread is at, on machines that hwloc makes up, and what variables that say it may not look like. Called with
the paths of the drop-ins (with `:`) and of `places`, then unittest's arguments.
"""
import os
import subprocess
import sys
import unittest

drop_ins, places = sys.argv[1:3]

EIGHT = "pack:2 core:2 pu:2"  # sockets {0-3}, {4-7}; cores {0,1}, {2,3}, ...
FOUR = "pack:1 core:4 pu:1"


def run(*arguments, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_", "COMITY_"))}
    env = clean | {"LD_PRELOAD": drop_ins, "COMITY_HARTS": "2", "OMP_MAX_ACTIVE_LEVELS": "2"} | variables
    return subprocess.run([places, *arguments], env=env, capture_output=True, text=True, timeout=50)


def shown(ranks, clause=None, machine=EIGHT, **variables):
    done = run("show", str(ranks), *([clause] if clause else []), HWLOC_SYNTHETIC=machine, **variables)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [tuple(line.split()[1:]) for line in done.stdout.splitlines()]


def partition(begin, size, *numbers):
    return [(str(n), str(begin), str(size)) for n in numbers]


class dealing(unittest.TestCase):
    def setUp(self):
        if shown(1, OMP_PLACES="threads(3)") != [("0", "0", "3", "0")]:
            self.skipTest("no hwloc here")

    def check(self, ranks, wanted, clause=None, machine=EIGHT, **variables):
        self.assertEqual([line[:3] for line in shown(ranks, clause, machine, **variables)], wanted)

    def test_each_policy(self):
        table = (  # policy, places, ranks: places
            ("primary", "threads", 3, partition(0, 8, 0, 0, 0)),
            ("master", "cores", 2, partition(0, 4, 0, 0)),
            ("close", "threads", 3, partition(0, 8, 0, 1, 2)),
            ("true", "cores", 4, partition(0, 4, 0, 1, 2, 3)),
            ("close", "cores", 6, partition(0, 4, 0, 0, 1, 1, 2, 3)),
            ("close", "sockets", 5, partition(0, 2, 0, 0, 0, 1, 1)),
            ("spread", "threads", 2, partition(0, 4, 0) + partition(4, 4, 4)),
            ("spread", "threads", 3, partition(0, 3, 0) + partition(3, 3, 3) + partition(6, 2, 6)),
            ("spread", "cores", 6, [(p, p, "1") for p in "001123"]),
            ("unset", "threads", 2, partition(0, 8, -1, -1)),
            ("false", "threads", 2, partition(0, 8, -1, -1)))
        for policy, list_of_places, ranks, wanted in table:
            with self.subTest(policy=policy, places=list_of_places, ranks=ranks):
                self.check(ranks, wanted, OMP_PROC_BIND=policy, OMP_PLACES=list_of_places)

    def test_the_clause_wins_but_over_false(self):
        self.check(2, partition(0, 4, 0) + partition(4, 4, 4), "spread", OMP_PROC_BIND="close", OMP_PLACES="threads")
        self.check(2, partition(0, 8, 0, 1), "close", OMP_PROC_BIND="unset", OMP_PLACES="threads")
        self.check(2, partition(0, 8, 0, 0), "primary", OMP_PLACES="threads")
        self.check(2, partition(0, 8, -1, -1), "spread", OMP_PROC_BIND="false", OMP_PLACES="threads")

    def test_inner_regions_follow_the_list(self):
        inner = {"OMP_PLACES": "threads", "INNER": "2"}
        self.check(2, partition(0, 4, 0, 1) + partition(4, 4, 4, 5), OMP_PROC_BIND="spread,close", **inner)
        self.check(2, partition(0, 2, 0) + partition(2, 2, 2) + partition(4, 2, 4) + partition(6, 2, 6),
                   OMP_PROC_BIND="spread,spread", **inner)
        self.check(2, partition(0, 8, 0, 1) + partition(0, 8, 1, 2), OMP_PROC_BIND="close", **inner)
        self.check(2, partition(0, 8, -1, -1, -1, -1), OMP_PROC_BIND="spread,unset", **inner)

    def test_affinity_is_the_places(self):
        self.assertEqual([line[3] for line in shown(4, OMP_PROC_BIND="close", OMP_PLACES="cores")], ["0-1", "2-3", "4-5", "6-7"])
        self.assertEqual([line[3] for line in shown(2, OMP_PROC_BIND="close", OMP_PLACES="{0,2:2},{7}")], ["0,2-3", "7"])

    def test_intels_variable(self):
        def affinities(value, ranks=4, **variables):
            return [line[3] for line in shown(ranks, KMP_AFFINITY=value, **variables)]

        self.assertEqual(affinities("compact"), ["0-1", "2-3", "4-5", "6-7"])
        self.assertEqual(affinities("granularity=fine,compact"), ["0", "1", "2", "3"])
        self.assertEqual(affinities("granularity=fine,compact,1,0"), ["0", "2", "4", "6"])
        self.assertEqual(affinities("granularity=fine,compact,0,3"), ["3", "4", "5", "6"])
        self.assertEqual(affinities("verbose,granularity=fine,scatter"), ["0", "4", "2", "6"])
        self.assertEqual(affinities("scatter"), ["0-1", "4-5", "2-3", "6-7"])
        self.assertEqual(affinities("balanced", 2), ["0-1", "4-5"])
        self.assertEqual(affinities("explicit,proclist=[3,0-1,{4,6}]"), ["3", "0", "1", "4,6"])
        self.check(2, [("-1", "-1", "0")] * 2, KMP_AFFINITY="none")
        self.check(2, [("-1", "-1", "0")] * 2, KMP_AFFINITY="disabled")
        self.assertEqual([line[3] for line in shown(3, GOMP_CPU_AFFINITY="7 0-4:2")], ["7", "0", "2"])

    def test_a_part_of_the_machine(self):
        def affinities(value, ranks, machine=EIGHT, list_of_places="threads"):
            return [line[3] for line in shown(ranks, None, machine, KMP_HW_SUBSET=value, OMP_PLACES=list_of_places)]

        self.assertEqual(affinities("1s,2c,1t", 2), ["0", "2"])
        self.assertEqual(affinities("1t,2c,1s@1", 2), ["4", "6"])
        self.assertEqual(affinities("2s,1c@1", 2, list_of_places="cores"), ["2-3", "6-7"])
        self.assertEqual(affinities("2c@1", 2, FOUR), ["1", "2"])

    def test_values_that_are_not_allowed_give_one_line(self):
        table = (
            ("KMP_AFFINITY", ("moon", "compact,", "compact,x", "granularity=,compact", "explicit", "explicit,proclist=[", "proclist=[0]",
                              "compact,scatter", "compact,1,2,3", "explicit,proclist=[3-1]", "explicit,proclist=[1-3:0]", ",", "")),
            ("KMP_HW_SUBSET", ("", "x", "0c", "3x", "1c,1c", "9s", "1s@2", "-1c", "99999999999999999999c", "1s;2c", "1s,")),
            ("GOMP_CPU_AFFINITY", ("", "x", "3-1", "0:", "0-", "-1", "0 x", "0-7:0", "99999999999999999999")),
            ("KMP_TEAMS_PROC_BIND", ("", "far", "close,close", "true")))
        for variable, values in table:
            for value in values:
                with self.subTest(variable=variable, value=value):
                    done = run("show", "2", HWLOC_SYNTHETIC=EIGHT, **{variable: value})
                    self.assertEqual(done.returncode, 0)
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                    self.assertIn(f'comity: {variable}="{value}": not ', done.stderr)

    def test_processors_that_are_left_out_are_told_once(self):
        if shown(1, OMP_PLACES="threads(3)") != [("0", "0", "3", "0")]:
            self.skipTest("no hwloc here")
        for variable, value, places, what in (
                ("GOMP_CPU_AFFINITY", "7 9 0-4:2", ["7", "0", "2"], "processor 9; using the rest (4 of 5 places)"),
                ("GOMP_CPU_AFFINITY", "8-10,1", ["1"], "processor 8 and 2 more; using the rest (1 of 4 places)"),
                ("KMP_AFFINITY", "explicit,proclist=[3,8,{4,6,99}]", ["3", "4,6"], "processor 8 and 1 more; using the rest (2 of 3 places)")):
            with self.subTest(variable=variable, value=value):
                done = run("show", str(len(places)), HWLOC_SYNTHETIC=EIGHT, **{variable: value})
                self.assertEqual([line.split()[4] for line in done.stdout.splitlines()], places)
                self.assertEqual(done.stderr, f'comity: {variable}="{value}": the process may not use {what}\n')
        for variable, value, instead in (("GOMP_CPU_AFFINITY", "8 9", "no places"), ("KMP_AFFINITY", "explicit,proclist=[8,9]", "none")):
            done = run("show", "2", HWLOC_SYNTHETIC=EIGHT, **{variable: value})
            self.assertEqual(done.stderr, f'comity: {variable}="{value}": not with a processor that the process may use; using {instead}\n')

    def test_the_standards_variables_win(self):
        done = run("show", "2", HWLOC_SYNTHETIC=EIGHT, KMP_AFFINITY="scatter", OMP_PROC_BIND="close", OMP_PLACES="threads")
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines()], ["0", "1"])
        self.assertEqual(done.stderr, 'comity: KMP_AFFINITY="scatter": OMP_PLACES or OMP_PROC_BIND says where threads run; using that\n')


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
