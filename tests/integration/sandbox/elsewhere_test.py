"""Programs without /proc, and children in another root or of another C library: they run as without Comity, and nothing
of the dynamic linker's or Comity's is said."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["SANDBOXED_PROGRAM"]
NOT_TOLD = os.environ["NOT_TOLD_PROGRAM"]
COMITY = os.environ["COMITY_PROGRAM"]
WAYS = ([], ["--posix"], ["--no-posix"])
AS_ROOT = [] if os.geteuid() == 0 else ["unshare", "-r"]


def run(*words, harts=2):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COMITY_", "LD_"))}
    return subprocess.run(words, stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=100,
                          env={**clean, "COMITY_HARTS": str(harts)})


class elsewhere(unittest.TestCase):
    def expect(self, result, code, out=None):
        shown = f"{result.args}: {result.returncode}\n{result.stdout}{result.stderr}"
        self.assertEqual((result.returncode, result.stderr), (code, ""), shown)
        if out is not None:
            self.assertEqual(result.stdout, out, shown)


class without_proc(elsewhere):
    HIDDEN = [*(["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]), "sh", "-c",
              'mount -t tmpfs none /proc && exec "$@"', "sh"]

    def setUp(self):
        if run(*self.HIDDEN, "true").returncode != 0:
            self.skipTest("/proc cannot be hidden here")

    def test_programs_run(self):
        for mode in ("--posix", "--no-posix"):
            for harts in (1, 2):
                result = run(*self.HIDDEN, COMITY, "run", mode, "--", PROGRAM, harts=harts)
                self.expect(result, 7)
                self.assertNotIn("refused", result.stdout)

    def test_calls_that_sleep_hold_nobody_up(self):
        for call in ("read", "poll", "number"):
            result = run(*self.HIDDEN, COMITY, "run", "--posix", "--", NOT_TOLD, call, "3")
            self.expect(result, 0, "turns: 800, wrong: 0\n")


class in_another_root(elsewhere):
    """With the C library, a shell and a program in it, and without Comity."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="comity-root-")
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("/bin/dash", "/bin/true"):
            self.take(name)
        os.symlink("dash", self.root + "/bin/sh")
        if run(*AS_ROOT, "chroot", self.root, "/bin/sh", "-c", "exit 3").returncode != 3:
            self.skipTest("chroot is not allowed here")

    def take(self, name):
        libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", name], text=True, capture_output=True).stdout)
        for file in [name, *libraries]:
            os.makedirs(self.root + os.path.dirname(file), exist_ok=True)
            shutil.copy(file, self.root + file)

    def test_a_program_is_executed(self):
        for posix in WAYS:
            self.expect(run(*AS_ROOT, COMITY, "run", *posix, "--", "chroot", self.root, "/bin/sh", "-c", "/bin/true; exit 3"), 3)

    def test_a_child_is_started(self):
        children = {
            "system": "import os; os.chroot({0!r}); os.chdir('/'); exit(os.waitstatus_to_exitcode(os.system('/bin/true; exit 3')))",
            "spawn": "import os; os.chroot({0!r}); os.chdir('/'); exit(os.waitstatus_to_exitcode(os.waitpid("
                     "os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 3'], os.environ), 0)[1]))",
            "popen": "import ctypes, os; os.chroot({0!r}); os.chdir('/'); c = ctypes.CDLL(None); c.popen.restype = ctypes.c_void_p;"
                     " exit(os.waitstatus_to_exitcode(c.pclose(ctypes.c_void_p(c.popen(b'/bin/true; exit 3', b'r')))))",
            "subprocess": "import subprocess, os; os.chroot({0!r}); os.chdir('/');"
                          " exit(subprocess.run(['sh', '-c', 'exit 3']).returncode)"}
        for name, text in children.items():
            for way in WAYS:
                with self.subTest(name, way=way):
                    result = run(*AS_ROOT, COMITY, "run", *way, "--", sys.executable, "-c", text.format(self.root))
                    self.expect(result, 3)

    def test_system_acts_upon_signals_as_the_c_librarys(self):
        """An interrupt ends the shell, and not the process that waits for it."""
        text = ("import os, signal; os.chroot({0!r}); os.chdir('/'); signal.signal(signal.SIGINT, signal.SIG_DFL);"
                " ended = os.system('kill -INT $$'); survives = os.system('kill -INT $PPID; exit 3');"
                " os.system('exit 0') == 0 or exit(5); signal.pthread_sigmask(signal.SIG_BLOCK, []) and exit(6);"
                " exit(os.waitstatus_to_exitcode(survives) if ended == signal.SIGINT else 4)")
        for way in WAYS:
            with self.subTest(way=way):
                result = run(*AS_ROOT, COMITY, "run", *way, "--", sys.executable, "-c", text.format(self.root))
                self.expect(result, 3)

    def test_system_leaves_the_environment_of_the_process_as_it_is(self):
        text = ("import ctypes, os; os.chroot({0!r}); os.chdir('/'); c = ctypes.CDLL(None); c.getenv.restype = ctypes.c_char_p;"
                " before = c.getenv(b'LD_PRELOAD'); code = os.waitstatus_to_exitcode(os.system('exit 3'));"
                " exit(code if before and c.getenv(b'LD_PRELOAD') == before else 4)")
        for way in WAYS:
            with self.subTest(way=way):
                result = run(*AS_ROOT, COMITY, "run", *way, "--", sys.executable, "-c", text.format(self.root))
                self.expect(result, 3)


class of_another_c_library(elsewhere):
    def setUp(self):
        compiler = shutil.which("musl-gcc")
        if not compiler:
            self.skipTest("there is no musl-gcc (Debian: musl-tools)")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.program = os.path.join(folder, "program")
        subprocess.run([compiler, "-x", "c", "-", "-o", self.program], input="int main(void) { return 3; }\n", text=True, check=True)

    def test_its_programs_are_started(self):
        for way in WAYS:
            self.expect(run(COMITY, "run", *way, "--", "sh", "-c", f"{self.program}; exit $?"), 3)
            self.expect(run(COMITY, "run", *way, "--", "sh", "-c", f"exec {self.program}"), 3)

    def test_they_are_the_program_itself(self):
        for way in WAYS:
            result = run(COMITY, "run", *way, "--", self.program)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertLessEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertNotIn("preload", result.stderr.lower().replace("ld_preload", ""), result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
