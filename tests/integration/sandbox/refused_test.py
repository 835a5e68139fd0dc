"""What a sandbox refuses: each system call in calls.txt fails in turn, with each error, from the process' start or once
threads and regions have run. Whatever program.c gets done so without Comity it gets done with it, and nothing is said."""
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ["SANDBOXED_PROGRAM"]
COMITY = os.environ["COMITY_PROGRAM"]
ERRORS = {"EPERM": 1, "EACCES": 13, "ENOSYS": 38, "EOPNOTSUPP": 95}
# Each error in one way; all ways for all errors would take minutes.
WAYS = {"EPERM": ("early", "--posix"), "EACCES": ("early", "--no-posix"), "ENOSYS": ("early", "--posix"), "EOPNOTSUPP": ("late", "--posix")}


def numbers():
    """Of system calls by their names, as the compiler has them."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "numbers.c")
        with open(source, "w") as file:
            file.write("#include <sys/syscall.h>\n")
        said = subprocess.run([os.environ.get("CC", "cc"), "-E", "-dM", source], text=True, capture_output=True, check=True).stdout
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", said)}


def calls():
    with open(os.path.join(HERE, "calls.txt")) as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def run(words, seconds=60):
    """Code, or "hangs", and what it printed; the environment is this one without COMITY_* and LD_*."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COMITY_", "LD_"))}
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**clean, "COMITY_HARTS": "2"}, start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out.splitlines(), err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return "hangs", out.splitlines(), err


def what_is_lost(name, number, error, when, mode):
    """In words; None: nothing."""
    def words(*before):
        refusal = (str(number), str(ERRORS[error]))
        if when == "early":
            return [PROGRAM, "refuse", *refusal, *before, PROGRAM]
        return [*before, PROGRAM, "late", *refusal]
    code, parts, said = run(words(), 10)  # the C library hangs where some are refused
    if code != 7 or said:
        return None  # the program itself needs the call
    with_comity = run(words(COMITY, "run", mode, "--"))
    right = {part for part in parts if part.endswith(": right")}
    missing = sorted(right - set(with_comity[1]))
    if with_comity[0] == 7 and not missing and not with_comity[2]:
        return None
    return f"{name}, {error}, {when}, {mode}: code {with_comity[0]}, not right: {missing}, stderr: {with_comity[2]!r}"


class refused(unittest.TestCase):
    def setUp(self):
        if run([PROGRAM, "refuse", "9999", "1", PROGRAM])[0] == 77:
            self.skipTest("filters of system calls cannot be installed here")

    def test_nothing_is_lost_and_nothing_said(self):
        known = numbers()
        ways = [(name, known[name], error, *way) for name in calls() if name in known
                for error, way in WAYS.items()]
        self.assertGreater(len(ways), 200)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            lost = [what for what in pool.map(lambda way: what_is_lost(*way), ways) if what]
        self.assertEqual(lost, [], "\n" + "\n".join(lost))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
