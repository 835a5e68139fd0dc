"""What the program `trouble` says and how it ends, on Comity's drop-in: bad values of OMP_* variables, and regions in which something
ends, leaves or interrupts them. Called with the paths of the drop-in, of `trouble` and of `uncaught`, then unittest's arguments.
"""
import os
import re
import resource
import signal
import subprocess
import sys
import unittest

drop_in, trouble, uncaught = sys.argv[1:4]


def parents(path):
    path = os.path.dirname(os.path.abspath(path))
    while path != "/":
        yield path
        path = os.path.dirname(path)


def run(program, *arguments, before=None, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "COMITY_"))}
    env = clean | {"LD_PRELOAD": drop_in, "COMITY_HARTS": "2"} | variables
    done = subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=50, preexec_fn=before)
    done.complaints = done.stderr.splitlines()
    return done


class statistics(unittest.TestCase):
    def test_a_program_that_does_not_use_comity_is_told_so_in_one_line(self):
        became = "export COMITY_RUN_PROCESS=$$; (true); env true; exec env true"
        done = run("sh", "-c", became, COMITY_STATS="1")
        self.assertEqual((done.returncode, len(done.complaints)), (0, 1), done.stderr)
        self.assertRegex(done.stderr, "^comity: not used: ")
        self.assertEqual(run("sh", "-c", became).stderr, "")
        used = run("sh", "-c", f"export COMITY_RUN_PROCESS=$$; exec {trouble} show", COMITY_STATS="1")
        self.assertEqual(len(used.complaints), 1, used.stderr)
        self.assertRegex(used.stderr, "^comity: harts 2")


class bad_values(unittest.TestCase):
    """One line that names the variable and the value, then the default."""

    good = "threads 2 schedule 2,1 levels 1 dynamic 0 limit 2147483647 nested 0"

    def expect(self, complaint, shown=good, **variables):
        done = run(trouble, "show", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), shown)
        self.assertEqual(len(done.complaints), 1 if complaint else 0, done.stderr)
        if complaint:
            self.assertRegex(done.complaints[0], "^comity: " + complaint)

    def test_nothing_said_is_no_complaint(self):
        self.expect(None)

    def test_num_threads(self):
        for value in ("0", "-3", "", " ", "abc", "4,,2", ",", ",4", "3x", "1e9", "99999999999999999999", "2;3"):
            with self.subTest(value):
                self.expect(re.escape(f'OMP_NUM_THREADS="{value}": not a list of whole numbers'), OMP_NUM_THREADS=value)

    def test_a_process_that_has_nothing_to_do_with_openmp_says_nothing(self):
        self.assertEqual(run("env", "true", OMP_NUM_THREADS="abc", OMP_SCHEDULE="zz", OMP_ALLOCATOR="x", OMP_DISPLAY_ENV="x").stderr, "")

    def test_too_many_threads_are_cut(self):
        self.expect('OMP_NUM_THREADS="100000": a region can have 65534 threads', self.good.replace("threads 2", "threads 65534"),
                    OMP_NUM_THREADS="100000")

    def test_schedule(self):
        for value in ("banana", "", "static,-1", "dynamic,0", "guided,x", "dynamic,3,4", "banana:static", ",3"):
            with self.subTest(value):
                self.expect(re.escape(f'OMP_SCHEDULE="{value}": not static, dynamic, guided or auto'), OMP_SCHEDULE=value)

    def test_stack_sizes(self):
        for variable in ("OMP_STACKSIZE", "GOMP_STACKSIZE"):
            for value in ("", " ", "M", "MM", "12Q", "1.5M", "-1", "0", "8", "16383B", "65G", "2M3", "99999999999999999999", "17179869184G"):
                with self.subTest(variable=variable, value=value):
                    self.expect(re.escape(f'{variable}="{value}": not a size from 16K to 64G, '), **{variable: value})

    def test_places(self):
        for value in ("", "moon", "coresx", "cores(0)", "cores(x)", "cores(1", "cores,threads", "{}", "{0", "{0}x", "0,", ",0",
                      "{0},,{1}", "{0:0}", "{-1}", "{0}:0", "{0:2:1:1}", "!{0}:2", "{0}:", "99999999999999999999"):
            with self.subTest(value):
                self.expect(re.escape(f'OMP_PLACES="{value}": not threads, cores, ll_caches, numa_domains or sockets'), OMP_PLACES=value)

    def test_proc_bind(self):
        for value in ("", "far", "close,", "close,true", "true,close", "2"):
            with self.subTest(value):
                self.expect(re.escape(f'OMP_PROC_BIND="{value}": not true, false, or a list of '), OMP_PROC_BIND=value)

    def test_traits_of_allocators(self):
        for value in ("-1", "+1", "18446744073709551616", "99999999999999999999", "4096x", "x", ""):
            with self.subTest(value):
                allocator = f"omp_default_mem_space:pool_size={value}"
                self.expect(re.escape(f'OMP_ALLOCATOR="{allocator}": not an allocator'), OMP_ALLOCATOR=allocator)
        self.assertEqual(run(trouble, "crowd", OMP_ALLOCATOR="omp_default_mem_space:pool_size=4096,alignment=64").stderr, "")

    def test_others(self):
        for variable, value in (("OMP_DYNAMIC", "maybe"), ("OMP_NESTED", "2"), ("OMP_MAX_ACTIVE_LEVELS", "-1"),
                                ("OMP_MAX_ACTIVE_LEVELS", "x"), ("OMP_THREAD_LIMIT", "0"), ("OMP_WAIT_POLICY", ""),
                                ("OMP_WAIT_POLICY", "lazy"), ("OMP_TARGET_OFFLOAD", "foo"), ("KMP_DEVICE_THREAD_LIMIT", "0"), ("KMP_STACKSIZE", "64"),
                                ("OMP_CANCELLATION", "please"), ("OMP_DISPLAY_ENV", "loudly"),
                                ("OMP_MAX_TASK_PRIORITY", "-1"), ("OMP_NUM_TEAMS", "0"), ("OMP_ALLOCATOR", "my_own"),
                                ("OMP_DEFAULT_DEVICE", "-2")):
            with self.subTest(variable=variable, value=value):
                self.expect(re.escape(f'{variable}="{value}": not '), **{variable: value})


class devices(unittest.TestCase):
    def test_the_host_stands_in_unless_a_device_is_mandatory(self):
        for value in ("default", "Disabled"):
            self.assertEqual((run(trouble, "target_elsewhere", OMP_TARGET_OFFLOAD=value).stdout), "on host 1\n")
        done = run(trouble, "target_elsewhere", OMP_TARGET_OFFLOAD="MANDATORY")
        self.assertEqual((done.returncode, done.stdout, len(done.complaints)), (1, "", 1), done.stderr)
        self.assertRegex(done.complaints[0], "^comity: OMP_TARGET_OFFLOAD=mandatory: a target construct asks for device 3")


class every_variable(unittest.TestCase):
    """Whatever the value: the program runs as ever, and there is at most one line, which names the variable."""

    values = ("", " ", "0", "1", "2", "-1", "+1", "00002", "0x10", "3x", "1e9", "1.5", "abc", "true", "false", "\t\n", ",", ",,,", ":", "2,",
              ",2", "2,3", "2 3", "2;3", "32768", "2147483647", "2147483648", "-2147483649", "4294967297", "9223372036854775808",
              "99999999999999999999999", "%s%n%d", "\u00e9", "a" * 5000, "1" * 5000, "2," * 3000 + "2", "{" * 3000, "spread", "static,1", "cores")
    variables = ("OMP_NUM_THREADS", "OMP_SCHEDULE", "OMP_DYNAMIC", "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS", "OMP_THREAD_LIMIT", "OMP_STACKSIZE",
                 "GOMP_STACKSIZE", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "OMP_CANCELLATION", "OMP_MAX_TASK_PRIORITY", "OMP_DEFAULT_DEVICE",
                 "OMP_NUM_TEAMS", "OMP_TEAMS_THREAD_LIMIT", "OMP_ALLOCATOR", "OMP_AFFINITY_FORMAT", "OMP_DISPLAY_AFFINITY", "OMP_TARGET_OFFLOAD",
                 "OMP_DISPLAY_ENV", "OMP_TOOL", "OMP_TOOL_LIBRARIES", "OMP_DEBUG", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET",
                 "KMP_TEAMS_PROC_BIND", "KMP_BLOCKTIME", "KMP_LIBRARY", "KMP_CONSISTENCY_CHECK", "KMP_INHERIT_FP_CONTROL", "GOMP_SPINCOUNT")
    speak = ("OMP_DISPLAY_ENV", "OMP_DISPLAY_AFFINITY")  # print something else if they are true

    def test_each_with_each(self):
        for variable in self.variables:
            for value in self.values:
                with self.subTest(variable=variable, value=value[:40]):
                    done = run(trouble, "crowd", **{variable: value})
                    self.assertEqual(done.returncode, 0, done.stderr[:500])
                    if variable in self.speak and value.strip() in ("1", "true"):
                        continue
                    complaints = done.stderr.count("comity: ")
                    self.assertLessEqual(complaints, 1, done.stderr[:500])
                    if complaints:
                        self.assertTrue(done.stderr.startswith(f'comity: {variable}="'), done.stderr[:500])
                    else:
                        self.assertEqual(done.stderr, "")

    def test_contradictions(self):
        table = (
            ({"OMP_NUM_THREADS": "64", "OMP_THREAD_LIMIT": "3"}, "ranks 3"),
            ({"OMP_NUM_THREADS": "64", "OMP_DYNAMIC": "true"}, "ranks 2"),
            ({"OMP_NUM_THREADS": "64", "OMP_THREAD_LIMIT": "1", "OMP_NESTED": "true"}, "ranks 1"),
            ({"OMP_NUM_THREADS": "64", "OMP_THREAD_LIMIT": "8", "KMP_ALL_THREADS": "3"}, "ranks 3"),
            ({"OMP_NUM_THREADS": "5", "OMP_WAIT_POLICY": "hybrid", "KMP_DEVICE_THREAD_LIMIT": "max"}, "ranks 5"),
            ({"OMP_NUM_THREADS": "5", "OMP_MAX_ACTIVE_LEVELS": "0"}, "ranks 1"),
            ({"OMP_NUM_THREADS": "5,6", "OMP_NESTED": "false"}, "ranks 5"),
            ({"OMP_NUM_THREADS": "5", "OMP_PROC_BIND": "false", "OMP_PLACES": "threads"}, "ranks 5"),
            ({"OMP_NUM_THREADS": "5", "OMP_PROC_BIND": "spread,unset,close", "OMP_MAX_ACTIVE_LEVELS": "1"}, "ranks 5"),
            ({"OMP_NUM_THREADS": "5", "OMP_PROC_BIND": "close", "GOMP_CPU_AFFINITY": "0"}, "ranks 5"),
            ({"OMP_NUM_THREADS": "5,7", "KMP_LIBRARY": "serial"}, "ranks 1"),
            ({"OMP_NUM_THREADS": "5", "OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "0"}, "ranks 5"),
            ({"OMP_NUM_THREADS": "5", "OMP_STACKSIZE": "16K", "GOMP_STACKSIZE": "64G"}, "ranks 5"),
            ({"OMP_NUM_THREADS": "4096", "OMP_THREAD_LIMIT": "2147483647"}, "ranks 4096"))
        for variables, wanted in table:
            with self.subTest(**variables):
                done = run(trouble, "crowd", **variables)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout.strip(), wanted)


class good_values(unittest.TestCase):
    def expect(self, shown, **variables):
        done = run(trouble, "show", **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(shown, done.stdout)

    def test_each_has_its_effect(self):
        self.expect("threads 5 ", OMP_NUM_THREADS="5")
        self.expect("threads 4 schedule 2,1 levels 255", OMP_NUM_THREADS=" 4 , 2 ")
        self.expect("threads 3 ", OMP_NUM_THREADS="3, ")
        self.expect("threads 3 schedule 2,1 levels 255", OMP_NUM_THREADS="3,2,")
        for value in (".T.", ".true.", "t", "Y", "enabled", " TRUE "):
            self.expect("nested 1", OMP_NESTED=value)
        for value in (".F.", ".false.", "F", "n", "disabled"):
            self.expect("nested 0", OMP_NESTED=value)
        self.expect("schedule 3,7 ", OMP_SCHEDULE="GUIDED, 7")
        self.expect("schedule 1,0 ", OMP_SCHEDULE="nonmonotonic:static")
        self.expect("schedule 2,1 ", OMP_SCHEDULE="dynamic")
        self.expect("levels 3 ", OMP_MAX_ACTIVE_LEVELS="3")
        self.expect("nested 1", OMP_NESTED="TRUE")
        self.expect("limit 64 ", OMP_THREAD_LIMIT="64")

    def test_comity_run_nests_by_default(self):
        self.expect("levels 255 dynamic 0 limit 2147483647 nested 1", COMITY_RUN="1")
        self.expect("levels 1 ", COMITY_RUN="1", COMITY_NESTED="0")
        self.expect("levels 2 ", COMITY_RUN="1", OMP_MAX_ACTIVE_LEVELS="2")
        self.expect("levels 1 ", COMITY_RUN="1", OMP_NESTED="false")

    def test_places_may_be_written_in_every_way(self):
        for value in ("threads", " Cores ", "sockets(1)", "ll_caches ( 2 )", "numa_domains", "0", "0,1", "{0},{1}", "{0,1},!{1}",
                      "{0:2},!1", "{0:4:2,!2}", "{7:4:-1}:2:-4", " { 0 : 2 : 1 } : 2 : 1 "):
            with self.subTest(value):
                done = run(trouble, "show", OMP_PLACES=value, HWLOC_SYNTHETIC="pu:8")
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_binding_reads_as_asked_for(self):
        def answers(**variables):
            done = run(trouble, "places", **variables)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout.strip()

        cpus = sorted(os.sched_getaffinity(0))
        first = f"{{{cpus[0]}}}"
        all_places = " ".join(f"{{{cpu}}}" for cpu in cpus)
        none, one = " places 0 place -1 partition 0", f" places 1 place 0 partition 1 {first}"
        self.assertEqual(answers(), "bind 0 inside 0" + none)
        self.assertEqual(answers(OMP_PLACES=first), "bind 1 inside 1" + one)
        self.assertEqual(answers(GOMP_CPU_AFFINITY=str(cpus[0])), "bind 1 inside 1" + one)
        self.assertEqual(answers(OMP_PROC_BIND="true", OMP_PLACES=first), "bind 1 inside 1" + one)
        self.assertEqual(answers(OMP_PROC_BIND="false", OMP_PLACES=first), "bind 0 inside 0" + one.replace("place 0", "place -1"))
        self.assertEqual(answers(OMP_PROC_BIND="unset", OMP_PLACES=first), "bind 0 inside 0" + one.replace("place 0", "place -1"))
        self.assertEqual(answers(OMP_PROC_BIND="Primary , spread"),
                         f"bind 2 inside 4 places {len(cpus)} place 0 partition {len(cpus)} {all_places}")

    def test_places_are_those_of_the_machine(self):
        def shown(value, synthetic="numa:2 l3:2 core:2 pu:2"):
            done = run(trouble, "places", OMP_PLACES=value, HWLOC_SYNTHETIC=synthetic, COMITY_HARTS="2")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found = done.stdout.strip()
            return found.split(" ", 10)[-1].replace("} {", "},{") if "{" in found else ""
        if shown("threads(1)") != "{0}" or len(shown("threads").split("},{")) != 16:
            self.skipTest("no hwloc here")
        self.assertEqual(shown("threads(3)"), "{0},{1},{2}")
        self.assertEqual(shown("cores"), ",".join(f"{{{2 * i},{2 * i + 1}}}" for i in range(8)))
        self.assertEqual(shown("ll_caches(2)"), "{0,1,2,3},{4,5,6,7}")
        self.assertEqual(shown("numa_domains"), "{0,1,2,3,4,5,6,7},{8,9,10,11,12,13,14,15}")
        self.assertEqual(shown("sockets"), "{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}")
        self.assertEqual(shown("{0:4:2,!2},{14}:2:1,{15:1}"), "{0,4,6},{14},{15},{15}")
        self.assertEqual(shown("{6,7}:4:-2,!{2,3}"), "{6,7},{4,5},{0,1}")
        self.assertEqual(shown("3,!{3},5"), "{5}")

    def test_places_that_cannot_be_used_are_told(self):
        done = run(trouble, "places", OMP_PLACES="{8000},{8001}:2")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, 'comity: OMP_PLACES="{8000},{8001}:2": not with a processor that the process may use; '
                                      'using no places\n')

    def test_places_that_are_left_out_are_told(self):
        def told(value):
            done = run(trouble, "places", OMP_PLACES=value, HWLOC_SYNTHETIC="pu:2")
            self.assertEqual(done.returncode, 0)
            return done.stderr
        if told("threads(1)") or told("{0:2}"):
            self.skipTest("no hwloc here")
        for value, what in (("{0},{99}", "processor 99; using the rest (1 of 2 places)"), ("{0:2:-5}", "processor -5; using the rest (1 of 1 places)"),
                            ("{0}:3:1", "processor 2; using the rest (2 of 3 places)"), ("{0,8},{7,9000,1}", "processor 8 and 2 more; using the rest (2 of 2 places)"),
                            ("{1},1000000,7", "processor 1000000 and 1 more; using the rest (1 of 3 places)")):
            with self.subTest(value):
                self.assertEqual(told(value), f'comity: OMP_PLACES="{value}": the process may not use {what}\n')
        for value in ("{0,9,!9}", "{0},{9},!{9}", "{0:4:3,!3,!6,!9}"):
            with self.subTest(value):
                self.assertEqual(told(value), "")

    def test_a_stack_size_holds_for_the_ranks(self):
        def deep(**variables):
            return run(trouble, "deep_inside", **({"COMITY_STACK_SIZE": "1M"} | variables))

        for variables in ({"OMP_STACKSIZE": "64M"}, {"OMP_STACKSIZE": " 65536 k "}, {"OMP_STACKSIZE": "65536"},
                          {"OMP_STACKSIZE": "67108864B"}, {"GOMP_STACKSIZE": "64M"},
                          {"OMP_STACKSIZE": "64M", "GOMP_STACKSIZE": "1M"}, {"KMP_STACKSIZE": "64M", "OMP_STACKSIZE": "1M"},
                          {"KMP_STACKSIZE": "67108864"}):
            with self.subTest(**variables):
                done = deep(**variables)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = deep(OMP_STACKSIZE="64Q", GOMP_STACKSIZE="64M")
        self.assertEqual((done.returncode, len(done.complaints)), (0, 1), done.stderr)
        self.assertEqual(deep().returncode, -signal.SIGSEGV)
        self.assertEqual(deep(OMP_STACKSIZE="2M", GOMP_STACKSIZE="64M").returncode, -signal.SIGSEGV)

    def test_display_env_prints_the_settings(self):
        settings = {"OMP_NUM_THREADS": "3,2", "OMP_PROC_BIND": "close,spread", "OMP_WAIT_POLICY": "active", "OMP_STACKSIZE": "2M"}
        first = f"{{{min(os.sched_getaffinity(0))}}}"
        shown = run(trouble, "show", OMP_DISPLAY_ENV="true", OMP_PLACES=first + ",!{9000}," + first, **settings).stderr
        self.assertIn("OPENMP DISPLAY ENVIRONMENT BEGIN", shown)
        self.assertIn("OPENMP DISPLAY ENVIRONMENT END", shown)
        for variable, value in (settings | {"OMP_STACKSIZE": 2 << 20, "OMP_PLACES": f"{first},{first}"}).items():
            self.assertIn(f"  {variable} = '{str(value).upper()}'\n", shown)

    def test_display_env_prints_long_settings_whole(self):
        cpu = min(os.sched_getaffinity(0))
        settings = {"OMP_PLACES": ",".join([f"{{{cpu}}}"] * 300), "OMP_AFFINITY_FORMAT": "x" * 250}
        shown = run(trouble, "show", OMP_DISPLAY_ENV="true", **settings).stderr
        for variable, value in settings.items():
            self.assertIn(f"  {variable} = '{value}'\n", shown)


class regions(unittest.TestCase):
    """Something happens inside; no hang, no lost result."""

    def expect(self, name, status=0, **options):
        done = run(trouble, name, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_fork_outside_lets_the_child_open_regions(self):
        self.expect("fork_outside")

    def test_fork_inside_lets_the_child_open_regions(self):
        self.expect("fork_inside", OMP_MAX_ACTIVE_LEVELS="4")

    def test_fork_beside_a_loop_leaves_the_child_whole_loops(self):
        self.expect("fork_beside_loop")

    def test_fork_inside_leaves_the_other_ranks_to_the_parent(self):
        for seed in ("1", "2", "3"):
            for harts in ("2", "4"):
                self.expect("fork_among_many", OMP_MAX_ACTIVE_LEVELS="4", COMITY_HARTS=harts, COMITY_CHAOS=seed)

    def test_fork_in_a_rank_that_then_waits_behind_a_loop_does_not_end_the_child(self):
        for harts in ("1", "2"):
            self.expect("fork_then_wait", COMITY_HARTS=harts, COMITY_STALL_MS="5", OMP_MAX_ACTIVE_LEVELS="4")

    def test_fork_while_ranks_are_watched_leaves_a_watch_to_the_child(self):
        self.expect("fork_while_watched", COMITY_HARTS="2", COMITY_STALL_MS="1")

    def test_fork_while_others_enter_variables_and_sets_of_cpus_leaves_no_lock_to_the_child(self):
        done = run(trouble, "fork_among_lists", LD_PRELOAD=drop_in + ":" + drop_in.replace("libgomp.so.1", "libomp.so.5"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_exit_inside_ends_the_process_with_its_status(self):
        self.assertIn("left by exit", self.expect("exit_inside", 7).stdout)

    def test_signals_inside_lose_nothing(self):
        self.expect("signal_inside")

    def test_uncaught_exception_ends_the_process_with_a_message(self):
        done = run(uncaught)
        self.assertEqual(done.returncode, -6)
        self.assertIn("nobody catches this", done.stderr)

    def test_waiting_threads_use_no_cpu(self):
        self.expect("idle")

    def test_what_is_not_served_ends_by_name(self):
        done = self.expect("openacc", -6)
        self.assertEqual(len(done.complaints), 1)
        self.assertRegex(done.complaints[0], "^comity: acc_wait_all: not served yet")

    def test_a_region_runs_with_fewer_ranks_when_there_is_no_memory(self):
        limit = 400 << 20

        def little_memory():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        done = self.expect("crowd", before=little_memory, OMP_NUM_THREADS="4000")
        ranks = int(done.stdout.split()[1])
        self.assertTrue(1 <= ranks < 4000, ranks)
        self.assertRegex(done.stderr, f"comity: a parallel region gets {ranks} ranks instead of 4000")
        for line in done.complaints: # there may be none for a hart's kernel thread either
            self.assertRegex(line, "^comity: ")

    def test_verbose_says_what_is_served_and_where_thread_local_storage_comes_from(self):
        said = run(trouble, "fork_outside", COMITY_VERBOSE="1").stderr
        self.assertIn(f"comity: OpenMP: served, by {os.path.dirname(drop_in)}/libcomity_openmp.so\n", said)
        self.assertIn("comity: 2 harts; thread-local storage from sleeping threads (donor)\n", said)
        said = run(trouble, "fork_outside", COMITY_VERBOSE="1", COMITY_TLS="glibc").stderr
        if "comity: COMITY_TLS=glibc: thread-local storage from" not in said:  # that is, it does not work here
            self.assertIn("; thread-local storage from the C library's allocator (glibc)\n", said)

    def test_stack_overflow_inside_is_named(self):
        done = self.expect("overflow_inside", -signal.SIGSEGV)
        self.assertEqual(len(done.complaints), 1, done.stderr)
        self.assertRegex(done.complaints[0], r"^comity: stack overflow in context \d+, which has \d+ KiB; set OMP_STACKSIZE")

        done = self.expect("overflow_inside", -signal.SIGSEGV, OMP_STACKSIZE="256K")
        self.assertRegex(done.complaints[0], r"which has (2[5-9]\d|3\d\d) KiB")

    def test_one_core_is_enough(self):
        core = min(os.sched_getaffinity(0))
        for name in ("signal_inside", "fork_inside", "idle"):
            with self.subTest(name):
                self.expect(name, before=lambda: os.sched_setaffinity(0, {core}), COMITY_HARTS="1", OMP_MAX_ACTIVE_LEVELS="4")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become a user without other processes")
    def test_a_region_runs_with_fewer_ranks_at_the_limit_of_threads(self):
        if any(not os.stat(folder).st_mode & 1 for path in (drop_in, trouble) for folder in parents(path)):
            self.skipTest("the build folder is closed to other users")
        for limit in (1, 12):
            def nobody_with_few_threads():
                os.setgid(65534)
                os.setuid(54321)
                resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

            with self.subTest(limit):
                done = self.expect("crowd", before=nobody_with_few_threads, OMP_NUM_THREADS="64")
                ranks = int(done.stdout.split()[1])
                if limit == 12 and ranks == 64:  # most need a kernel thread for a moment only
                    self.assertEqual([], done.complaints)
                    continue
                self.assertTrue(1 <= ranks < 64, ranks)
                self.assertRegex(done.stderr, f"comity: a parallel region gets {ranks} ranks instead of 64: no more threads to be had")

    def test_the_wait_policy_says_whether_idle_harts_spin(self):
        for variables in ({"OMP_WAIT_POLICY": "passive"}, {"KMP_BLOCKTIME": "0"}, {"GOMP_SPINCOUNT": "0"},
                          {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "2k"}, {"KMP_LIBRARY": "throughput"}, {"OMP_WAIT_POLICY": "active", "KMP_BLOCKTIME": "10us"},
                          {"OMP_WAIT_POLICY": "active", "COMITY_SPIN_US": "20"}):
            with self.subTest(**variables):
                self.expect("idle", **variables)
        for variables in ({"OMP_WAIT_POLICY": "active"}, {"KMP_BLOCKTIME": "infinite"}, {"KMP_BLOCKTIME": "900"},
                          {"GOMP_SPINCOUNT": "infinity"}, {"GOMP_SPINCOUNT": "90M"}, {"KMP_LIBRARY": "turnaround"}):
            with self.subTest(**variables):
                self.assertIn("ms of CPU time while idle", self.expect("idle", 1, **variables).stderr)

    def test_switches_for_experiments_change_no_result(self):
        for variables in ({"COMITY_HOT_TEAMS": "0"}, {"COMITY_TEAM_TREE": "0"}, {"OMP_WAIT_POLICY": "passive"}, {"OMP_WAIT_POLICY": "active"}):
            for name in ("fork_outside", "fork_inside", "nest_deeply", "signal_inside"):
                with self.subTest(name, **variables):
                    self.expect(name, OMP_MAX_ACTIVE_LEVELS="4", **variables)

    def test_a_thousand_regions_in_each_other(self):
        for levels in ("1", "3", "255", "100000"):
            with self.subTest(levels):
                self.expect("nest_deeply", OMP_MAX_ACTIVE_LEVELS=levels)

    def test_strict_numbers_of_threads(self):
        drop_ins = drop_in + ":" + drop_in.replace("libgomp.so.1", "libomp.so.5")
        done = run(trouble, "strict", LD_PRELOAD=drop_ins, OMP_THREAD_LIMIT="3")
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, "went on\n"))
        self.assertEqual(done.complaints, ["comity: num_threads(strict): 3 threads instead of 64: all of them, please"] * 2)
        self.assertEqual(run(trouble, "strict", LD_PRELOAD=drop_ins).returncode, 0)

    def test_reductions_of_tasks_are_whole_with_fewer_threads(self):
        for limit in (1, 3, 64):
            self.assertEqual(self.expect("task_reduction", OMP_THREAD_LIMIT=str(limit)).stdout, f"product {6 ** min(limit, 8)}\n")

    def test_each_thread_has_an_identifier_of_its_own(self):
        for tls in ("glibc", "donor"):
            for harts in ("1", "2"):
                done = self.expect("crowd", OMP_NUM_THREADS="20", OMP_DISPLAY_AFFINITY="true", OMP_AFFINITY_FORMAT="%n %{native_thread_id}",
                                   COMITY_TLS=tls, COMITY_HARTS=harts)
                shown = [line.split(" ") for line in done.complaints]
                self.assertEqual(sorted(int(rank) for rank, _ in shown), list(range(20)))
                self.assertEqual(len({identifier for _, identifier in shown}), 20)

    def test_numbers_of_threads_that_cannot_be_are_told_once(self):
        for number, said, ranks in (("-1", "num_threads(-1): not a number from 1; the clause has no effect", 2),
                                    ("2000000000", "2000000000 threads asked for: a region can have 65534; using that", 65534)):
            for how in ("num_threads", "num_threads_set"):
                with self.subTest(number=number, how=how):
                    done = self.expect(how, OMP_THREAD_LIMIT="64", NUMBER=number)
                    by_call = how == "num_threads_set"  # omp_set_num_threads(-1) is 1, as in libgomp
                    self.assertEqual(done.stdout, f"ranks {1 if by_call and ranks == 2 else min(ranks, 64)}\n" * 2)
                    self.assertEqual(done.complaints, [] if by_call and ranks == 2 else ["comity: " + said])

    def test_a_crowd_of_ranks_runs_on_two_harts(self):
        for ranks in ("1000", "12345"):
            self.assertIn(f"ranks {ranks}", self.expect("crowd", OMP_NUM_THREADS=ranks).stdout)

    def test_a_team_may_grow_in_small_steps(self):
        self.expect("creep")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
