"""What the tests of the command line share: an installation in a temporary folder, with stand-ins for the drop-ins."""
import os
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
STAND_IN = "int comity_stand_in_{0};\n"
PRELOADED = ("libgomp.so.1", "libomp.so.5", "libcomity_iomp5.so", "libcomity_blas.so", "libcomity_threads.so")
DROP_INS = PRELOADED[:-1] + ("libcomity_pthread.so", PRELOADED[-1])  # the former in place of the latter with --no-posix
CORE = "libcomity_openmp.so"  # the OpenMP drop-ins need it, so it is loaded with them


def read(path):
    with open(path, "rb") as file:
        return file.read()


class cli_case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="comity-cli-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = os.path.join(cls.folder, "prefix")
        os.makedirs(os.path.join(cls.prefix, "bin"))
        os.makedirs(os.path.join(cls.prefix, "lib", "comity"))
        cls.comity = os.path.join(cls.prefix, "bin", "comity")
        shutil.copy(os.environ["COMITY_PROGRAM"], cls.comity)
        for number, name in enumerate(DROP_INS):
            cls.build(f"prefix/lib/comity/{name}", STAND_IN.format(number), "-shared", "-fPIC", f"-Wl,-soname,{name}")
        cls.build(f"prefix/lib/comity/{CORE}", STAND_IN.format("core"), "-shared", "-fPIC")
        cls.preload = ":".join(os.path.join(cls.prefix, "lib/comity", name) for name in PRELOADED)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def build(cls, name, source, *flags):
        """Compiles C to a file in the temporary folder; raises when the compiler does not succeed."""
        target = cls.path(name)
        subprocess.run([os.environ.get("CC", "cc"), "-x", "c", "-", "-x", "none", *flags, "-o", target],
                       input=source, text=True, check=True, capture_output=True)
        return target

    @classmethod
    def write(cls, name, content, mode=0o755):
        target = cls.path(name)
        with open(target, "w") as file:
            file.write(content)
        os.chmod(target, mode)
        return target

    def run_comity(self, *words, env=None, program=None, cwd=None):
        """Runs comity; the environment is this one without COMITY_* and LD_*, plus env (None takes a variable out)."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("COMITY_", "LD_"))}
        for name, value in (env or {}).items():
            clean.pop(name, None)
            if value is not None:
                clean[name] = value
        return subprocess.run([program or self.comity, *words], env=clean, cwd=cwd or self.folder, text=True, capture_output=True,
                              timeout=60)

    def expect(self, result, code, out=None, err=""):
        """err: None for anything, "" for nothing, else a part of what must be exactly one line."""
        shown = f"{result.args}: {result.returncode}\n{result.stdout}{result.stderr}"
        self.assertEqual(result.returncode, code, shown)
        if out is not None:
            self.assertEqual(result.stdout, out, shown)
        if err == "":
            self.assertEqual(result.stderr, "", shown)
        elif err is not None:
            self.assertEqual(result.stderr.count("\n"), 1, shown)
            self.assertTrue(result.stderr.startswith("comity: "), shown)
            self.assertIn(err, result.stderr)
