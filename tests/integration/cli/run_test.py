"""comity run: what it does with every kind of program, and that the program's own behaviour is not changed."""
import os
import resource
import re
import shutil
import signal
import subprocess
import sys
import unittest

from cli_case import CORE, DROP_INS, cli_case, read

SAY_PRELOAD = '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { const char *p = getenv("LD_PRELOAD");' \
              ' puts(p ? p : "none"); return 7; }\n'
HARTS = "a whole number from 1 to 1024"


class passes_through(cli_case):
    def test_the_exit_code_is_the_programs(self):
        for code in (0, 1, 7, 125, 126, 127, 255):
            self.expect(self.run_comity("run", "--", "sh", "-c", f"exit {code}"), code, out="")

    def test_death_by_a_signal_is_the_programs(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            result = self.run_comity("run", "--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(result.returncode, -number)

    def test_a_signal_sent_to_comity_reaches_the_program(self):
        process = subprocess.Popen([self.comity, "run", "--", "sh", "-c", "trap 'kill $!; exit 9' TERM; sleep 60 & echo ready; wait"],
                                   stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        self.assertEqual(process.wait(timeout=30), 9)
        process.stdout.close()

    def test_no_process_stands_between(self):
        process = subprocess.Popen([self.comity, "run", "sh", "-c", "echo $$"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(int(process.communicate(timeout=30)[0]), process.pid)

    def test_standard_input_and_output_are_the_programs(self):
        result = subprocess.run([self.comity, "run", "cat"], input="a\0b", text=True, capture_output=True, timeout=30)
        self.assertEqual(result.stdout, "a\0b")

    def test_no_file_is_left_open_for_the_program(self):
        plain = subprocess.run(["ls", "/proc/self/fd"], text=True, capture_output=True).stdout
        self.expect(self.run_comity("run", "ls", "/proc/self/fd"), 0, out=plain)


class words_belong_to_the_right_side(cli_case):
    def test_the_programs_options_are_not_eaten(self):
        for before in ((), ("--",), ("--harts", "2"), ("--harts=2", "--stats", "--")):
            result = self.run_comity("run", *before, "printf", "%s\n", "--harts", "9", "--stats", "-h", "--help", "--", "--version")
            self.expect(result, 0, out="--harts\n9\n--stats\n-h\n--help\n--\n--version\n")

    def test_a_program_where_a_number_should_be_is_named(self):
        result = self.run_comity("run", "--harts", "ls")
        self.expect(result, 125, err=r'--harts "ls": not a whole number')
        self.expect(self.run_comity("run", "--harts", "2"), 125, err="which program")

    def test_a_second_double_dash_is_the_programs(self):
        self.expect(self.run_comity("run", "--", "printf", "%s\n", "--", "x"), 0, out="--\nx\n")

    def test_a_program_whose_name_begins_with_a_dash_runs_after_a_double_dash(self):
        folder = self.path("dashes")
        os.makedirs(folder)
        self.write("dashes/--odd", "#!/bin/sh\necho odd $1\n")
        self.expect(self.run_comity("run", "--", "--odd", "x", env={"PATH": folder + ":" + os.environ["PATH"]}), 0, out="odd x\n")

    def test_empty_words_and_blanks_arrive_unchanged(self):
        self.expect(self.run_comity("run", "printf", "[%s]", "", " a  b ", "\n"), 0, out="[][ a  b ][\n]")

    def test_wrong_usage_is_an_error_with_a_way_out(self):
        for words in (("run",), ("run", "--"), ("run", "--harts"), ("run", "--frob", "true"), ("run", "--harts", "2"),
                      ("run", "-x", "true")):
            self.expect(self.run_comity(*words), 125, out="", err="see `comity run --help`")
        for words in (("frob",), ("--frob",), ("doctor", "--frob"), ("doctor", "--pid", "x"), ("doctor", "--pid", "0"),
                      ("doctor", "--pid", "1", "true")):
            self.expect(self.run_comity(*words), 2, out="", err="--help`")
        result = self.run_comity()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("comity run -- PROGRAM", result.stderr)


class environment(cli_case):
    def inside(self, *words, env=None):
        result = self.run_comity("run", *words, "env", env=env)
        variables = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        return {name: value for name, value in variables.items() if name.startswith(("COMITY_", "LD_"))}, result.stderr

    def test_without_options_only_the_drop_ins_are_named(self):
        self.assertEqual(self.inside(), ({"LD_PRELOAD": self.preload, "COMITY_RUN": "1"}, ""))

    def test_options_become_variables_and_win_over_them(self):
        seen, _ = self.inside("--harts", "3", "--stats", "--no-nested", env={"COMITY_HARTS": "5", "COMITY_STATS": "0"})
        self.assertEqual((seen["COMITY_HARTS"], seen["COMITY_STATS"], seen["COMITY_NESTED"]), ("3", "1", "0"))
        self.assertEqual(self.inside("--own-regions")[0]["COMITY_OWN_REGIONS"], "1")
        kernels = self.preload.replace("libcomity_threads.so", "libcomity_pthread.so")
        for words, said, preload in ((("--posix",), "on", self.preload), (("--no-posix",), "off", kernels),
                                     (("--posix", "--no-posix"), "off", kernels), (("--no-posix", "--posix"), "on", self.preload)):
            seen, _ = self.inside(*words, env={"COMITY_POSIX": "auto"})
            self.assertEqual((seen["COMITY_POSIX"], seen["LD_PRELOAD"]), (said, preload))
        for said, preload in (("auto", self.preload), ("off", kernels), ("0", kernels), ("on", self.preload), ("1", self.preload)):
            self.assertEqual(self.inside(env={"COMITY_POSIX": said})[0]["LD_PRELOAD"], preload)
        seen, _ = self.inside("--bind", "cores", env={"COMITY_BIND": "numa"})
        self.assertEqual(seen["COMITY_BIND"], "cores")
        seen, said = self.inside("--harts", "3", env={"COMITY_HARTS": "abc"})
        self.assertEqual((seen["COMITY_HARTS"], said), ("3", ""))
        seen, _ = self.inside("--harts", "5", "--bind=none", "--harts=6", "--bind", "cores", "--stats", "--stats")
        self.assertEqual((seen["COMITY_HARTS"], seen["COMITY_BIND"]), ("6", "cores"))
        seen, said = self.inside("--verbose", "--harts=1024")
        self.assertEqual((seen["COMITY_HARTS"], seen["COMITY_VERBOSE"]), ("1024", "1"))
        self.assertIn(self.preload, said)

    def test_what_is_preloaded_already_stays_behind_the_drop_ins(self):
        other = self.build("libother.so", "int other;", "-shared", "-fPIC")
        self.assertEqual(self.inside(env={"LD_PRELOAD": other})[0]["LD_PRELOAD"], self.preload + ":" + other)

    def test_comity_run_inside_comity_run_preloads_once(self):
        result = self.run_comity("run", "--", self.comity, "run", "--", "sh", "-c", "echo $LD_PRELOAD")
        self.expect(result, 0, out=self.preload + "\n")

    def test_a_bad_number_of_harts_on_the_command_line_is_an_error(self):
        for bad in ("abc", "0", "-3", "1e9", "", "1025", "2.5", "99999999999999999999", " 2", "+2"):
            for words in (("--harts", bad), (f"--harts={bad}",)):
                said = f'--harts "{bad}": not {HARTS}' if words != ("--harts=",) else "--harts"
                self.expect(self.run_comity("run", *words, "--", "true"), 125, out="", err=said)

    def test_a_bad_binding_on_the_command_line_is_an_error(self):
        for bad in ("core", "CORES", "", "1"):
            self.expect(self.run_comity("run", "--bind", bad, "--", "true"), 125, out="",
                        err=f'--bind "{bad}": not one of none, cores, numa')

    def test_a_bad_variable_is_one_warning_and_does_not_reach_the_program(self):
        for name, bad in (("COMITY_HARTS", "abc"), ("COMITY_HARTS", "0"), ("COMITY_HARTS", "-3"), ("COMITY_HARTS", "1e9"),
                          ("COMITY_TLS", "x"), ("COMITY_BIND", "sockets"), ("COMITY_STACK_SIZE", "1"), ("COMITY_CHAOS", "-1")):
            seen, said = self.inside(env={name: bad})
            self.assertNotIn(name, seen)
            self.assertEqual(said.count("\n"), 1, said)
            self.assertTrue(said.startswith(f'comity: {name}="{bad}": not '), said)
        self.assertRegex(self.inside(env={"COMITY_HARTS": "abc"})[1], r"; using [1-9][0-9]* \(detected\)\n$")
        self.assertRegex(self.inside(env={"COMITY_BIND": "abc"})[1], r"; using the default \(none: .*\)\n$")

    def test_an_empty_variable_is_none(self):
        for name in ("COMITY_HARTS", "COMITY_BIND", "COMITY_STATS"):
            self.assertEqual(self.inside(env={name: ""})[1], "")

    def test_a_mistyped_variable_is_one_line_with_the_right_name(self):
        for name, meant in (("COMITY_HART", "COMITY_HARTS"), ("COMITY_HATRS", "COMITY_HARTS"), ("COMITY_STACKSIZE", "COMITY_STACK_SIZE"),
                            ("COMITY_SPIN", "COMITY_SPIN_US"), ("COMITY_VERBOS", "COMITY_VERBOSE"), ("COMITY_TSL", "COMITY_TLS")):
            seen, said = self.inside(env={name: "2"})
            self.assertEqual(said, f"comity: {name}: there is no such variable; did you mean {meant}?\n")
            self.assertEqual(self.inside("--posix", "--harts", "2", env={name: "1"})[1], said)
            self.assertEqual(seen[name], "2")

    def test_variables_of_others_are_no_mistakes(self):
        for name in ("COMITY_BLAS", "COMITY_PROGRAM", "COMITY_EXPECTED_LIBRARY", "COMITY_X", "COMITY_", "COMITY_" + 100 * "S", "COMITYHARTS"):
            self.assertEqual(self.inside(env={name: "2"})[1], "")


class programs_that_cannot_run(cli_case):
    def test_a_missing_program_is_127(self):
        self.expect(self.run_comity("run", "no-such-program"), 127, out="", err="no-such-program: not found in PATH")
        self.expect(self.run_comity("run", "/no/such/program"), 127, out="", err="/no/such/program: no such file")
        self.expect(self.run_comity("run", "/etc/passwd/x"), 127, out="", err="/etc/passwd/x: no such file")
        self.expect(self.run_comity("run", ""), 127, out="", err="name is empty")

    def test_an_option_without_its_value(self):
        for option in ("--bind", "--harts"):
            self.expect(self.run_comity("run", option), 125, out="", err=f"comity: run: {option}: its value is missing")

    def test_a_file_here_that_is_not_in_path_gets_a_hint(self):
        self.write("only-here", "#!/bin/sh\n")
        self.expect(self.run_comity("run", "only-here", cwd=self.folder), 127, err="did you mean ./only-here?")
        self.expect(self.run_comity("run", "./only-here", cwd=self.folder), 0)

    def test_a_folder_and_a_file_that_is_not_executable_are_126(self):
        self.expect(self.run_comity("run", self.folder), 126, out="", err="is a folder")
        plain = self.write("plain", "#!/bin/sh\n", 0o644)
        self.expect(self.run_comity("run", plain), 126, out="", err="chmod +x")
        self.expect(self.run_comity("run", "plain", env={"PATH": self.folder}), 126, err="chmod +x")

    def test_an_executable_later_in_path_wins_over_a_plain_file(self):
        for folder, mode in (("first", 0o644), ("second", 0o755)):
            os.makedirs(self.path(folder))
            self.write(f"{folder}/tool", "#!/bin/sh\necho here\n", mode)
        path = ":".join((self.path("first"), self.path("second")))
        self.expect(self.run_comity("run", "tool", env={"PATH": path}), 0, out="here\n")
        self.expect(self.run_comity("run", "tool", env={"PATH": ""}, cwd=self.path("second")), 0, out="here\n")

    def test_without_path_the_standard_folders_are_searched(self):
        self.expect(self.run_comity("run", "true", env={"PATH": None}), 0)

    def test_a_script_whose_interpreter_is_missing_is_126(self):
        script = self.write("lost", "#!/no/such/interpreter -x\n")
        self.expect(self.run_comity("run", script), 126, out="", err="is a script for /no/such/interpreter")
        script = self.write("dos", "#!/bin/sh\r\necho\r\n")
        self.expect(self.run_comity("run", script), 126, out="", err="carriage return")
        loop = self.path("loop")
        self.expect(self.run_comity("run", self.write("loop", f"#!{loop}\n")), 126, out="", err="deep")

    def test_what_is_neither_program_nor_script_is_126(self):
        with open(self.path("junk"), "wb") as file:
            file.write(b"\x00\x01\x02" * 100)
        os.chmod(self.path("junk"), 0o755)
        self.expect(self.run_comity("run", self.path("junk")), 126, out="", err="neither a program nor a script")

    def test_a_program_whose_loader_is_missing_is_126(self):
        program = self.build("lost-loader", SAY_PRELOAD, "-Wl,--dynamic-linker=/no/such/ld-linux-x86-64.so.2")
        self.expect(self.run_comity("run", program), 126, out="", err="needs the loader /no/such/ld-linux-x86-64.so.2")

    def test_a_damaged_program_is_no_crash(self):
        content = read(shutil.which("true"))
        for cut in (4, 10, 20, 63, 64, 100, 500, 2000, len(content) // 2):
            with open(self.path("damaged"), "wb") as file:
                file.write(content[:cut])
            os.chmod(self.path("damaged"), 0o755)
            result = self.run_comity("run", self.path("damaged"))
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("damaged: is damaged: ", result.stderr)
            self.assertIn(f" {cut} bytes", result.stderr)
            if cut < 64:
                self.expect(result, 126, out="", err="is damaged: its header is not whole")
            if result.returncode < 0:  # the kernel accepted it and the program died by itself, without Comity's doing
                self.assertGreaterEqual(cut, 64)

    @unittest.skipIf(os.environ.get("COMITY_SANITIZE"), "a sanitizer needs more")
    def test_one_file_beside_the_standard_ones_is_enough(self):
        one = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        result = subprocess.run([self.comity, "run", "sh", "-c", "exit 7"], text=True, capture_output=True, timeout=60,
                                preexec_fn=one)
        self.expect(result, 7, out="")


class stands_aside(cli_case):
    def check(self, program, reason, code=7, out="none\n"):
        self.expect(self.run_comity("run", program), code, out=out, err=reason)

    def test_for_a_static_program(self):
        program = self.build("static", SAY_PRELOAD, "-static")
        self.check(program, f"{program}: is statically linked; running it without Comity")
        self.check(self.build("static-pie", SAY_PRELOAD, "-static-pie"), "is statically linked")

    def test_for_a_script_whose_interpreter_is_static(self):
        interpreter = self.build("static-interpreter", SAY_PRELOAD, "-static")
        self.check(self.write("script", f"#!{interpreter}\n"), f"{interpreter}: is statically linked")

    def test_for_another_c_library(self):
        loader = re.search(rb"/lib[\w/]*/ld-linux[\w.-]+", read(shutil.which("true"))).group().decode()
        other = self.path("ld-musl-x86_64.so.1")
        os.symlink(os.path.realpath(loader), other)
        self.check(self.build("musl", SAY_PRELOAD, f"-Wl,--dynamic-linker={other}"), "uses another C library than glibc")

    def test_for_another_machine(self):
        content = bytearray(read(shutil.which("true")))
        content[18:20] = (243).to_bytes(2, "little")  # RISC-V
        with open(self.path("foreign"), "wb") as file:
            file.write(content)
        os.chmod(self.path("foreign"), 0o755)
        result = self.run_comity("run", self.path("foreign"))
        if result.returncode == 0:
            self.skipTest("this machine runs programs of that one")
        self.assertEqual(result.returncode, 126)
        self.assertIn("is built for riscv (64 bits)", result.stderr)
        self.assertIn("cannot be executed", result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make such a file")
    def test_for_a_set_user_id_program(self):
        program = self.build("privileged", SAY_PRELOAD)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        os.chmod(self.folder, 0o755)
        self.check(program, "runs with the rights of another user")

    @unittest.skipUnless(shutil.which("clang"), "clang is not installed")
    def test_for_a_program_with_a_sanitizer_inside(self):
        with open(self.path("inside.c"), "w", encoding="utf-8") as file:
            file.write(SAY_PRELOAD)
        program = self.path("inside")
        built = subprocess.run(["clang", "-fsanitize=thread", file.name, "-o", program], capture_output=True, text=True)
        if "libclang_rt" in built.stderr:
            self.skipTest("clang has no ThreadSanitizer library here (Debian: libclang-rt-14-dev)")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.check(program, "is built with a sanitizer")

    def test_for_a_program_with_a_sanitizer(self):
        try:
            program = self.build("sanitized", SAY_PRELOAD, "-fsanitize=address", "-shared-libasan" if "clang" in
                                 os.environ.get("CC", "") else "-fsanitize=address")
        except subprocess.CalledProcessError:
            self.skipTest("no sanitizer library here")
        if b"libasan.so" not in read(program):
            self.skipTest("the sanitizer is not a shared library here")
        self.check(program, "is built with a sanitizer")

    def test_where_a_library_path_holds_too_old_a_library(self):
        """A drop-in that needs version 2 of a library, and a user whose LD_LIBRARY_PATH names version 1 of it."""
        for version, names in (("1", "ONE { *; };"), ("2", "ONE { }; TWO { global: two; } ONE;")):
            os.makedirs(self.path(f"version{version}"))
            self.write(f"map{version}", names, 0o644)
            self.build(f"version{version}/libdependency.so.1", "int two(void) { return 2; }", "-shared", "-fPIC",
                       "-Wl,-soname,libdependency.so.1", f"-Wl,--version-script={self.path('map' + version)}")
        prefix = self.path("other")
        shutil.copytree(self.prefix, prefix)
        self.build("other/lib/comity/libcomity_blas.so", "int two(void); int use(void) { return two(); }", "-shared", "-fPIC",
                   self.path("version2/libdependency.so.1"), f"-Wl,--enable-new-dtags,-rpath,{self.path('version2')}")
        comity = os.path.join(prefix, "bin/comity")
        program = self.build("plain-program", SAY_PRELOAD)
        self.expect(self.run_comity("run", program, program=comity), 7, out=self.preload.replace(self.prefix, prefix) + "\n")
        result = self.run_comity("run", program, program=comity, env={"LD_LIBRARY_PATH": self.path("version1")})
        self.expect(result, 7, out="none\n", err="does not load together with Comity")
        result = self.run_comity("run", program, program=comity, env={"LD_LIBRARY_PATH": "/nowhere"})
        self.expect(result, 7, out=self.preload.replace(self.prefix, prefix) + "\n")

    def test_not_for_a_program_with_library_paths_that_are_fine(self):
        program = self.build("with-runpath", SAY_PRELOAD, "-Wl,-rpath,/nowhere")
        self.expect(self.run_comity("run", program), 7, out=self.preload + "\n")


    def run_limited(self, program, limits, user=None, posix="--posix"):
        def limit():
            for which, value in limits.items():
                resource.setrlimit(which, (value, value))
            if user:
                os.setuid(user)
        return subprocess.run([self.comity, "run", *([posix] if posix else []), program], cwd=self.folder, text=True, capture_output=True,
                              timeout=60, preexec_fn=limit)

    @unittest.skipIf(os.environ.get("COMITY_SANITIZE"), "a sanitizer needs more")
    def test_where_limits_leave_no_room(self):
        program = self.build("small", SAY_PRELOAD)
        for which, value, said in ((resource.RLIMIT_AS, 15_000, "-v 15000"), (resource.RLIMIT_DATA, 5000, "-d 5000"),
                                   (resource.RLIMIT_STACK, 32, "-s 32")):
            result = self.run_limited(program, {which: value * 1024})
            self.expect(result, 7, out="none\n", err=f"(ulimit {said}) leaves no room for Comity, which needs ")
        room = {resource.RLIMIT_AS: 1 << 30, resource.RLIMIT_DATA: 1 << 30, resource.RLIMIT_STACK: 1 << 20}
        self.expect(self.run_limited(program, room), 7, out=self.preload + "\n")

    @unittest.skipUnless(os.geteuid() == 0, "the limit counts all of a user's threads, so it takes another user")
    def test_where_a_limit_leaves_no_kernel_threads(self):
        os.chmod(self.folder, 0o755)
        program = self.build("unprivileged", SAY_PRELOAD)
        result = self.run_limited(program, {resource.RLIMIT_NPROC: 8}, user=61957)
        self.expect(result, 7, out="none\n", err="(ulimit -u 8) leaves no room for Comity, which needs ")
        kernels = self.preload.replace("libcomity_threads.so", "libcomity_pthread.so")
        self.expect(self.run_limited(program, {resource.RLIMIT_NPROC: 8}, user=61957, posix=None), 7, out=kernels + "\n")
        self.expect(self.run_limited(program, {resource.RLIMIT_NPROC: 500}, user=61957), 7, out=self.preload + "\n")


class threads(cli_case):
    """Whose the program's threads are, unless it is said."""
    def serves(self, program, *words):
        said = self.run_comity("run", "--verbose", program, *words).stderr
        return "libcomity_threads.so" in said.partition("preloading")[2].partition("\n")[0]

    def test_are_the_kernels_where_no_library_computes_in_parallel(self):
        create = "#include <pthread.h>\nint main(int n, char **a) { return n > 9 ? pthread_create((pthread_t *)a, 0, 0, 0) : 0; }"
        self.assertFalse(self.serves(self.build("makes-threads", create)))
        self.build("libpool-of-threads.so", "#include <pthread.h>\nint pool(void *a) { return pthread_create(a, 0, 0, 0); }", "-shared", "-fPIC")
        through = self.build("through-a-library", "int pool(void *); int main(int n, char **a) { return n > 9 ? pool(a) : 0; }",
                             self.path("libpool-of-threads.so"), f"-Wl,-rpath,{self.folder}")
        self.assertFalse(self.serves(through))

    def test_are_comitys_beside_a_parallel_library(self):
        create = "#include <pthread.h>\nint main(int n, char **a) { return n > 9 ? pthread_create((pthread_t *)a, 0, 0, 0) : 0; }"
        self.build("libopenblas.so.0", "int blas;", "-shared", "-fPIC", "-Wl,-soname,libopenblas.so.0")
        self.build("libsolver.so", "int solver;", "-shared", "-fPIC", "-Wl,--no-as-needed", self.path("libopenblas.so.0"), f"-Wl,-rpath,{self.folder}")
        for library in ("libopenblas.so.0", "libsolver.so"):
            program = self.build(f"with-{library}", create, "-Wl,--no-as-needed", self.path(library), f"-Wl,-rpath,{self.folder}")
            self.assertTrue(self.serves(program))

    def test_are_the_kernels_where_the_program_binds_them(self):
        binds = "int pthread_setaffinity_np(), pthread_create(); int main(int n, char **a) { return n > 9 ? pthread_create() + pthread_setaffinity_np() : 0; }"
        self.build("libgomp-like.so", "int omp;", "-shared", "-fPIC", "-Wl,-soname,libgomp.so.1")
        self.assertFalse(self.serves(self.build("binds", binds, "-w", "-Wl,--no-as-needed", self.path("libgomp-like.so"), f"-Wl,-rpath,{self.folder}")))

    def test_are_comitys_in_programs_that_load_libraries_or_start_programs(self):
        self.assertTrue(self.serves("sh", "-c", ":"))
        self.assertTrue(self.serves("env", "true"))
        self.assertTrue(self.serves(sys.executable, "-c", ""))
        self.assertTrue(self.serves(self.write("a-script", "#!/usr/bin/env python3\n")))


class scripts(cli_case):
    def test_their_interpreters_get_the_drop_ins(self):
        script = self.write("shell", "#!/bin/sh -e\necho $LD_PRELOAD $0 $1\n")
        self.expect(self.run_comity("run", script, "a b"), 0, out=f"{self.preload} {script} a b\n")
        outer = self.write("outer", f"#!{script} x\n")
        self.expect(self.run_comity("run", outer), 0, out=f"{self.preload} {script} x\n")

    def test_without_a_first_line_they_are_the_shells(self):
        self.expect(self.run_comity("run", self.write("bare", "echo bare $1\n"), "x"), 0, out="bare x\n")
        self.expect(self.run_comity("run", self.write("empty", "")), 0, out="")

    def test_env_finds_their_interpreter(self):
        self.expect(self.run_comity("run", self.write("by-env", "#!/usr/bin/env sh\necho $LD_PRELOAD\n")), 0,
                    out=self.preload + "\n")


class installation(cli_case):
    def test_missing_drop_ins_are_an_error_that_says_where_it_looked(self):
        lonely = self.path("lonely/bin/comity")
        os.makedirs(os.path.dirname(lonely))
        shutil.copy(self.comity, lonely)
        self.expect(self.run_comity("run", "true", program=lonely), 125, out="", err=self.path("lonely/lib/comity"))
        os.makedirs(self.path("lonely/lib/comity"))
        self.expect(self.run_comity("run", "true", program=lonely), 125, out="", err=" and ".join((*DROP_INS, CORE)))

    def test_an_installation_may_be_moved_and_linked_to(self):
        moved = self.path("moved")
        shutil.copytree(self.prefix, moved)
        link = self.path("link")
        os.symlink(os.path.join(moved, "bin/comity"), link)
        result = self.run_comity("run", "sh", "-c", "echo $LD_PRELOAD", program=link)
        self.expect(result, 0, out=self.preload.replace(self.prefix, moved) + "\n")

    def test_a_folder_that_cannot_be_preloaded_from_is_an_error(self):
        blank = self.path("with blank")
        shutil.copytree(self.prefix, blank)
        self.expect(self.run_comity("run", "true", program=os.path.join(blank, "bin/comity")), 125, err="blank")


if __name__ == "__main__":
    unittest.main()
