"""comity doctor: what it finds out about the machine, about files and about running processes."""
import glob
import json
import os
import shutil
import subprocess
import unittest

from cli_case import DROP_INS, cli_case, read

REGION = """#include <stdio.h>
int main(void) { int n = 0;
#pragma omp parallel reduction(+ : n)
  n += 1;
return n == 0; }
"""


class doctor_case(cli_case):
    def examine(self, *words, code=0, env=None):
        result = self.run_comity("doctor", "--json", *words, env=env)
        self.assertEqual((result.returncode, result.stderr), (code, ""), result.stdout)
        return json.loads(result.stdout)

    def verdicts(self, *words):
        """file name -> verdict, kind"""
        return {os.path.basename(found["path"]): (found["verdict"], found["kind"])
                for found in self.examine(*words)["program"]["runtimes"]}


class machine(doctor_case):
    def test_the_programs_arguments_are_not_its_own(self):
        for words in (("ls", "-l"), ("ls", "--json"), ("--", "ls", "--pid")):
            result = self.run_comity("doctor", *words)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("{", result.stdout[:2])

    def test_says_that_what_it_prints_is_lost(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([self.comity, "doctor", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output: No space left", result.stderr)

    def test_cores_and_harts_are_those_of_the_process(self):
        found = self.examine()["machine"]
        self.assertEqual(found["cores_in_affinity_mask"], len(os.sched_getaffinity(0)))
        self.assertEqual(found["problems"], [])
        self.assertEqual(found["drop_in_folder"], os.path.join(self.prefix, "lib/comity"))
        self.assertEqual(found["kernel"], "Linux " + os.uname().release)
        self.assertGreaterEqual(found["harts"], 1)

    def test_one_core_in_the_affinity_mask_is_one_hart(self):
        core = min(os.sched_getaffinity(0))
        result = subprocess.run(["taskset", "-c", str(core), self.comity, "doctor", "--json"], capture_output=True, text=True)
        found = json.loads(result.stdout)["machine"]
        self.assertEqual((found["harts"], found["cores_in_affinity_mask"]), (1, 1))

    def test_a_quota_of_half_a_core_is_one_hart(self):
        """In a control group of our own, version 1 or 2, where this machine lets us make one."""
        for parent, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}),
                              ("/sys/fs/cgroup", {"cpu.max": "50000 100000"})):
            group = os.path.join(parent, f"comity-test-{os.getpid()}")
            try:
                os.mkdir(group)
            except OSError:
                continue
            try:
                for name, value in files.items():
                    with open(os.path.join(group, name), "w") as file:
                        file.write(value)
                result = subprocess.run(["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$0" doctor --json', self.comity],
                                        capture_output=True, text=True)
            except OSError:
                continue
            finally:
                os.rmdir(group)
            found = json.loads(result.stdout)["machine"]
            self.assertEqual((found["harts"], found["cpu_quota_cores"]), (1, 0.5))
            self.assertIn("comity-test", found["cpu_quota_folder"])
            return
        self.skipTest("no control group with a CPU quota can be made here")

    def test_the_environment_is_judged_but_not_printed_on_standard_error(self):
        found = self.examine(env={"COMITY_HARTS": "abc", "COMITY_TLS": "donor"})["machine"]
        self.assertEqual(len(found["environment_complaints"]), 1)
        self.assertIn('COMITY_HARTS="abc"', found["environment_complaints"][0])
        self.assertEqual(found["tls_provider"], "donor")
        found = self.examine(env={"COMITY_HARTS": "5"})["machine"]
        self.assertEqual((found["harts"], found["harts_because"]), (5, "COMITY_HARTS"))
        found = self.examine(env={"COMITY_HART": "2"})["machine"]
        self.assertIn("did you mean COMITY_HARTS?", found["environment_complaints"][0])

    def test_harts_are_shown_where_they_would_be_bound(self):
        cpus = sorted(os.sched_getaffinity(0))
        found = self.examine()["machine"]
        self.assertEqual((found["bind"], found["hart_cpus"]), ("none", None))
        self.assertEqual(found["topology"]["cpus"], len(cpus))
        self.assertLessEqual(found["topology"]["cores"], len(cpus))
        for what, part in (("cores", "cores"), ("numa", "numa_nodes")):
            found = self.examine(env={"COMITY_BIND": what, "COMITY_HARTS": "3"})["machine"]
            self.assertEqual((found["bind"], len(found["hart_cpus"])), (what, 3))
            if found["topology"][part] == 1:
                self.assertEqual(found["hart_cpus"], [cpus] * 3)
            for hart in found["hart_cpus"]:
                self.assertLessEqual(set(hart), set(cpus))
                self.assertTrue(hart)

    def test_a_machine_that_is_made_up_is_shown(self):
        if self.examine()["machine"]["topology"]["source"] != "hwloc":
            self.skipTest("no hwloc here")
        found = self.examine(env={"HWLOC_SYNTHETIC": "numa:2 l3:2 core:4 pu:2", "COMITY_BIND": "numa",
                                  "COMITY_HARTS": "4"})["machine"]
        self.assertEqual([found["topology"][part] for part in ("cpus", "cores", "last_level_caches", "numa_nodes")],
                         [32, 16, 4, 2])
        self.assertEqual(found["hart_cpus"], [list(range(16))] * 2 + [list(range(16, 32))] * 2)

    def test_missing_drop_ins_are_a_problem(self):
        for name in DROP_INS:
            os.rename(self.path(f"prefix/lib/comity/{name}"), self.path(name))
        try:
            problems = self.examine(code=1)["machine"]["problems"]
        finally:
            for name in DROP_INS:
                os.rename(self.path(name), self.path(f"prefix/lib/comity/{name}"))
        self.assertEqual(len(problems), len(DROP_INS))

    def test_the_text_says_what_the_json_says(self):
        found, text = self.examine()["machine"], self.run_comity("doctor").stdout
        for part in (f"harts          {found['harts']} ", found["kernel"], found["tls_switch"], found["c_library"]):
            self.assertIn(part, text)


class programs(doctor_case):
    def test_openmp_compiled_by_gcc_is_served(self):
        if "clang" in os.environ.get("CC", ""):
            self.skipTest("this is not gcc")
        program = self.build("region", REGION, "-fopenmp")
        found = self.verdicts(program)
        self.assertEqual(found["region"], ("served", "OpenMP code compiled by gcc"))
        self.assertEqual(found["libgomp.so.1.0.0"], ("served", "libgomp (gcc's OpenMP)"))
        self.assertRegex(self.run_comity("doctor", program).stdout, r"served +libgomp \(gcc's OpenMP\): .*\n +/.*/libgomp.so.1")

    def test_llvms_openmp_is_served(self):
        libraries = glob.glob("/usr/lib/llvm-*/lib/libomp.so.5") + glob.glob("/usr/lib/*/libomp.so.5")
        if not libraries:
            self.skipTest("no libomp here")
        found = self.verdicts(self.build("llvm", "int main(void) { return 0; }", "-Wl,--no-as-needed", libraries[0]))
        self.assertIn(("served", "libomp (LLVM's OpenMP)"), found.values())

    def test_libraries_are_told_apart_by_what_they_export(self):
        """Stand-ins with the names and symbols of the real ones."""
        callback = "void openblas_set_num_threads(int n) {} void openblas_set_threads_callback_function(void *f) {}"
        create = "int pthread_create(); int use(void) { return pthread_create(); }"
        cases = {
            "libgomp-a34b3233.so.1.0.0": ("void GOMP_parallel(void) {}", "served"),
            "libiomp5.so": ("void __kmpc_fork_call(void) {} void GOMP_parallel(void) {}", "served"),
            "libscipy_openblas64_-1.so": (callback.replace("openblas", "scipy_openblas").replace("s(int", "s64_(int")
                                          .replace("function(", "function64_(") + create, "served"),
            "libopenblas.so.0": ("void openblas_set_num_threads(int n) {}" + create, "adopted"),
            "libopenblaso.so.0": ("void openblas_set_num_threads(int n) {} void GOMP_parallel(); void use(void) { GOMP_parallel(); }",
                                  "served"),
            "libopenblass.so.0": ("void openblas_set_num_threads(int n) {}", "left-alone"),
            "libtbb.so.12": ("int tbb;" + create, "adopted"),
            "libmkl_intel_thread.so.2": ("int mkl;", "served"),
            "libmkl_gnu_thread.so.2": ("int mkl;", "served"),
            "libpool.so": (create, "adopted"),
        }
        os.makedirs(self.path("stand-ins"))
        files = [self.build(f"stand-ins/{name}", source, "-shared", "-fPIC", f"-Wl,-soname,{name}")
                 for name, (source, _) in cases.items()]
        program = self.build("all", "int main(void) { return 0; }", "-Wl,--no-as-needed,--unresolved-symbols=ignore-all", *files,
                             "-Wl,-rpath,$ORIGIN/stand-ins")
        found = self.verdicts(program)
        # Beside libraries that compute in parallel the threads of others are served, too.
        self.assertEqual({name: found[name][0] for name in cases},
                         {name: verdict.replace("adopted", "served") for name, (_, verdict) in cases.items()})
        adopted = [name for name, (_, verdict) in cases.items() if verdict == "adopted" and "openblas" not in name]
        program = self.build("pools", "int main(void) { return 0; }", "-Wl,--no-as-needed,--unresolved-symbols=ignore-all",
                             *(self.path(f"stand-ins/{name}") for name in adopted), "-Wl,-rpath,$ORIGIN/stand-ins")
        self.assertEqual({name: self.verdicts(program)[name][0] for name in adopted}, dict.fromkeys(adopted, "adopted"))
        self.assertIn("callback", found["libscipy_openblas64_-1.so"][1])

    def test_libraries_are_found_as_the_loader_finds_them(self):
        """Everything that the loader lists for this machine's programs is found, at the same place."""
        for program in ("/usr/bin/cmake", "/usr/bin/git", "/usr/bin/gdb", "/usr/bin/perl"):
            if not os.path.exists(program):
                continue
            listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
            self.assertNotIn("not found", listed)
            self.assertEqual(self.examine(program)["program"]["missing_libraries"], [], program)

    def test_a_missing_library_is_named(self):
        self.build("libgone.so", "int gone(void) { return 0; }", "-shared", "-fPIC", "-Wl,-soname,libgone.so")
        program = self.build("needs-gone", "int gone(void); int main(void) { return gone(); }", self.path("libgone.so"))
        found = self.examine(program)["program"]
        self.assertEqual(found["missing_libraries"], ["libgone.so"])
        result = self.run_comity("doctor", "--json", program, env={"LD_LIBRARY_PATH": self.folder})
        self.assertEqual(json.loads(result.stdout)["program"]["missing_libraries"], [])

    def test_that_nothing_changes_is_said_where_that_is_so(self):
        self.build("libpool.so", "#include <pthread.h>\nint pool(pthread_t *t, void *(*f)(void *)) { return pthread_create(t, 0, f, 0); }",
                   "-shared", "-fPIC", "-Wl,-soname,libpool.so")
        source = "#include <pthread.h>\nint pool(pthread_t *, void *(*)(void *)); int main(void) { pthread_t t; return pool(&t, 0); }"
        runpath = "-Wl,-rpath," + self.folder
        pool = self.build("with-a-pool", source, self.path("libpool.so"), runpath)
        both = self.build("with-openmp-too", source, self.path("libpool.so"), runpath, "-fopenmp", "-Wl,--no-as-needed", "-lgomp")
        self.assertIn("changes nothing", self.run_comity("doctor", pool).stdout)
        self.assertNotIn("changes nothing", self.run_comity("doctor", both).stdout)

    def test_static_programs_and_missing_ones_are_explained(self):
        static = self.build("static", "int main(void) { return 0; }", "-static")
        self.assertEqual(self.examine(static)["program"]["obstacle"], "is statically linked")
        self.assertIn("no such file", self.examine("/no/such", code=1)["program"]["problem"])
        told = self.run_comity("doctor", static).stdout
        self.assertIn("stands aside", told)
        self.assertNotIn("threads of the program's own", told)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_a_program_that_may_not_be_read_is_explained(self):
        os.chmod(self.folder, 0o755)
        program = self.build("unreadable", "int main(void) { return 7; }")
        os.chmod(program, 0o111)
        said = [subprocess.run([self.comity, *words, program], capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
                for words in (("doctor", "--json"), ("doctor",), ("run",))]
        self.assertEqual([result.returncode for result in said], [1, 1, 7])
        self.assertIn(f"{program}: may be executed but not read", json.loads(said[0].stdout)["program"]["problem"])
        self.assertIn(f"`chmod +r {program}`", said[1].stdout)
        self.assertNotIn("No parallel library found", said[1].stdout)

    def test_a_truncated_program_is_called_damaged(self):
        with open(self.path("cut"), "wb") as file:
            file.write(read(shutil.which("true"))[:3000])
        os.chmod(self.path("cut"), 0o755)
        self.assertIn("is damaged: the file has 3000 bytes", self.examine(self.path("cut"))["program"]["obstacle"])

    def test_an_interpreter_comes_with_advice(self):
        script = self.write("python-script", f"#!{os.path.realpath('/usr/bin/python3')}\n")
        found = self.examine(script, "its", "arguments")["program"]
        self.assertIn("--pid", found["notes"][0])
        self.assertEqual(found["path"], script)

    def test_a_program_that_starts_others_decides_nothing_for_them(self):
        for starter in ["env", self.write("script", "#!/bin/sh\n")]:
            self.assertIn("starts other programs; Comity goes on to each", self.examine(starter)["program"]["notes"][0])

    def test_nothing_of_the_program_is_executed(self):
        self.write("trace", f"#!/bin/sh\ntouch {self.path('executed')}\n")
        evil = self.build("evil", "int main(void) { return 0; }", f"-Wl,--dynamic-linker={self.path('trace')}")
        self.examine(evil)
        self.examine(self.path("trace"))
        self.assertFalse(os.path.exists(self.path("executed")))


class processes(doctor_case):
    def test_a_running_process_shows_what_it_has_loaded(self):
        library = self.build("libpool.so", "int pthread_create(); int use(void) { return pthread_create(); }", "-shared", "-fPIC")
        program = self.build("waits", "int use(void); int main(void) { return getchar() == 0 && use(); }", library, "-w",
                             f"-Wl,-rpath,{self.folder}")
        with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
            while b"libpool" not in read(f"/proc/{process.pid}/maps"):
                pass
            found = self.examine("--pid", str(process.pid))["program"]
        self.assertEqual((found["path"], found["threads"], found["under_comity"]), (program, 1, False))
        self.assertEqual([(entry["path"], entry["verdict"]) for entry in found["runtimes"]], [(library, "adopted")])

    def test_under_comity_its_own_libraries_are_none_and_posix_serves_threads(self):
        pool = self.build("libpool.so", "int pthread_create(); int use(void) { return pthread_create(); }", "-shared", "-fPIC")
        program = self.build("waits", "int use(void); int main(void) { return getchar() == 0 && use(); }", pool, "-w", f"-Wl,-rpath,{self.folder}")
        core = self.build("libcomity.so.0", "int comity;", "-shared", "-fPIC")
        openmp = self.build("libcomity_openmp.so", "int comity_openmp;", "-shared", "-fPIC", "-Wl,-soname,libcomity_openmp.so")
        gomp = self.build("libgomp.so.1", "int GOMP_parallel;", "-Wl,--no-as-needed", openmp, "-shared", "-fPIC", f"-Wl,-rpath,{self.folder}")
        threads = self.build("libcomity_threads.so", "int comity_threads;", "-shared", "-fPIC")
        kernels = self.build("libcomity_pthread.so", "int comity_pthread;", "-shared", "-fPIC")
        run, asked_for = {"COMITY_RUN": "1"}, {"COMITY_RUN": "1", "COMITY_POSIX": "on"}
        for preload, variables, verdict in (([core, gomp], {}, "adopted"), ([core, gomp, kernels], {}, "adopted"), ([core, gomp, threads], {}, "served"),
                                            ([core, gomp, threads], run, "adopted"), ([core, gomp, threads], asked_for, "served")):
            with subprocess.Popen([program], stdin=subprocess.PIPE, env={**os.environ, **variables, "LD_PRELOAD": ":".join(preload)}) as process:
                while b"libpool" not in read(f"/proc/{process.pid}/maps"):
                    pass
                found = self.examine("--pid", str(process.pid))["program"]
            self.assertTrue(found["under_comity"])
            self.assertEqual([(entry["path"], entry["verdict"]) for entry in found["runtimes"]], [(pool, verdict)])

    def test_a_process_under_comity_is_recognised(self):
        comity = self.build("libcomity.so.0", "int comity;", "-shared", "-fPIC")
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": comity})
        while b"libcomity" not in read(f"/proc/{process.pid}/maps"):
            pass
        self.assertTrue(self.examine("--pid", str(process.pid))["program"]["under_comity"])
        process.communicate()

    def test_a_process_that_is_not_there_or_is_the_kernels_is_explained(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assertIn("there is no process", self.examine("--pid", str(gone.pid), code=1)["program"]["problem"])
        if os.path.exists("/proc/2/maps") and not os.path.exists("/proc/2/exe"):
            self.assertIn("thread of the kernel", self.examine("--pid", "2", code=1)["program"]["problem"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_somebody_elses_process_is_explained(self):
        os.chmod(self.folder, 0o755)
        result = subprocess.run([self.comity, "doctor", "--json", "--pid", str(os.getpid())], capture_output=True, text=True,
                                user=65534, group=65534, extra_groups=[])
        self.assertEqual(result.returncode, 1)
        self.assertIn("try with sudo", json.loads(result.stdout)["program"]["problem"])


if __name__ == "__main__":
    unittest.main()
