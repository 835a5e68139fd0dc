"""Runs programs with settings by chance, one run after the other, and says which ones did not end well.

mixed.py [--seconds N] [--seed S] --drop-in GOMP --drop-in THREADS --drop-in PTHREAD PROGRAM...
A program may be followed by =LIBRARY, the OpenMP drop-in that it needs in place of the first one. It gets a seed, a number of
threads, and the status that it is to end with. SOAK_SECONDS and SOAK_SEED are the defaults of N and S. Of a run that does not
end, the kernel and gdb (if it is there) say where all threads of all its processes stand. The last line is JSON.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from harness import machine  # noqa: E402

PATIENCE_S = 60
GDB_COMMANDS = ROOT / "tools/gdb/comity-gdb.py"
SETTINGS = {
    "OMP_WAIT_POLICY": ["active", "passive"],
    "OMP_NUM_THREADS": ["1", "2", "4", "2,2"],
    "OMP_PROC_BIND": ["true", "close,spread"],
    "KMP_BLOCKTIME": ["0", "infinite"],
    "COMITY_HARTS": ["1", "2", "3", "4"],
    "COMITY_POSIX_SLICE_MS": ["0", "1", "5", "20"],
    "COMITY_STALL_MS": ["5", "20", "50"],
    "COMITY_SPIN_US": ["0", "1", "1000"],
    "COMITY_HOT_TEAMS": ["no", "yes"],
    "COMITY_TEAM_TREE": ["no", "yes"],
    "COMITY_BIND": ["cores", "numa"],
    "COMITY_TLS_THREADS": ["0", "3", "50"],
    "COMITY_NESTED": ["no", "yes"],
    "COMITY_OWN_REGIONS": ["yes"],
    "COMITY_OMP_CHECK": ["yes"],
    "COMITY_POSIX_SCHEDULER": ["df_deques", "work_stealing", "fifo", "lifo"],
    "COMITY_POSIX_QUOTA": ["0", "100"],
    "COMITY_STACK_SIZE": ["256K", "1M"],
    "COMITY_CHAOS": ["1", "77", "12345"],
    "OMP_CANCELLATION": ["true"],
    "OMP_DYNAMIC": ["true"],
    "OMP_MAX_ACTIVE_LEVELS": ["1", "2"],
    "OMP_PLACES": ["cores", "threads", "{0},{0}"],
    "OMP_SCHEDULE": ["dynamic,3", "guided", "static,2"],
    "OMP_THREAD_LIMIT": ["3", "8"],
}


def session(leader):
    """The processes of a session, children before parents, as (depth, number)."""
    parents = {}
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            _, parent, _, of_session = (directory / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # has ended
        if int(of_session) == leader:
            parents[int(directory.name)] = int(parent)

    def depth(process):
        return 1 + depth(parents[process]) if process in parents else 0

    return sorted(((depth(p), p) for p in parents), reverse=True)


def kernel_says(process):
    """What the kernel tells of each thread: its state, its system call, and where in the kernel it is (the stack, to root)."""
    lines = []
    for task in sorted(pathlib.Path(f"/proc/{process}/task").glob("*")):
        for name in ("stat", "syscall", "wchan", "stack"):
            try:
                lines.append(f"  {task.name} {name}: {(task / name).read_text().strip()}")
            except OSError as why:
                lines.append(f"  {task.name} {name}: {why.strerror}")
    return lines


def say_by_gdb(what):
    """All backtraces of a process ("-p", number) or a core (program, core)."""
    asked = ["gdb", "-batch", *map(str, what), "-ex", "bt 30", "-ex", "thread apply all bt 30", "-ex", f"source {GDB_COMMANDS}", "-ex", "comity threads", "-ex", "comity bt all"]
    print("by gdb:", *what, flush=True)
    try:
        if shutil.which("gdb"):
            subprocess.run(asked, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as why:
        print(f"gdb: {why}", flush=True)


def say_where(leader):
    """Where each thread of the session's processes stands. Nothing is sent to them, and gdb stops a child before its parent."""
    processes = session(leader)
    for depth, process in processes:
        print(f"process {process}, depth {depth}:", *kernel_says(process), sep="\n", flush=True)
    for _, process in processes:
        say_by_gdb(["-p", process])


def move_reapers(leader):
    """How many threads were moved that stand in the kernel while they reap a child. A fault of Linux 6.18's, not of the programs': such a thread
    turns in shrink_dcache_parent until a thread of the child's is gone, which may never have its turn on that CPU: it ends in the root's group of
    the scheduler, the reaper turns in the session's (autogroup). On another CPU the reaper goes on. Only root sees it."""
    moved = 0
    for _, process in session(leader):
        for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
            try:
                if "shrink_dcache_parent" not in (task / "stack").read_text():
                    continue
                here = int((task / "stat").read_text().rpartition(")")[2].split()[36])
                os.sched_setaffinity(int(task.name), os.sched_getaffinity(0) - {here})
                moved += 1
            except OSError:  # it has ended, there is no other CPU, or the stack is not ours to see
                continue
    return moved


def output(process):
    """All that it writes, or nothing: it does not end in PATIENCE_S waits of a second. A time in which the machine itself stood is one wait."""
    moved = 0
    for wait in range(PATIENCE_S):
        try:
            return process.communicate(timeout=1)[0], moved
        except subprocess.TimeoutExpired:
            moved += move_reapers(process.pid) if wait % 10 == 9 else 0
    return None, moved


def run(command, environment, status):
    """How it failed, or nothing; and how many of its threads stood in the kernel. Where it, or a child, has died, is said by gdb, if the kernel leaves a core in the working folder."""
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
            said, moved = output(process)
            if said is None:
                say_where(process.pid)
                os.killpg(process.pid, signal.SIGKILL)  # also its children, which may stand as well
                return f"no end after {PATIENCE_S} s (see above): {process.communicate()[0][-300:]}", moved
        ignored = "ignored" in said  # by the dynamic linker: a drop-in
        if process.returncode == status and not ignored:
            return "", moved
        for core in pathlib.Path(folder).glob("core*"):
            say_by_gdb([command[0], core])
        return f"status {process.returncode}, not {status}: {said[-300:]}", moved


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=os.environ.get("SOAK_SECONDS") or 600)
    parser.add_argument("--seed", type=int, default=os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--drop-in", action="append", required=True)
    parser.add_argument("programs", nargs="+")
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    resource.setrlimit(resource.RLIMIT_CORE, [resource.getrlimit(resource.RLIMIT_CORE)[1]] * 2)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_", "COMITY_"))}
    until, runs, failed, stood, slowest = time.monotonic() + asked.seconds, 0, 0, 0, 0.0
    while time.monotonic() < until:
        program, _, own = chance.choice(asked.programs).partition("=")
        openmp, threads, without_threads = asked.drop_in
        drop_ins = [own or openmp, threads if chance.random() < 0.8 else without_threads]  # as comity run has them
        settings = {k: chance.choice(v) for k, v in SETTINGS.items() if chance.random() < 0.25}
        status = chance.randrange(3, 120)
        command = [program, str(chance.randrange(1000)), chance.choice(["1", "2", "4", "8"]), str(status)]
        begin = time.monotonic()
        how, moved = run(command, clean | settings | {"LD_PRELOAD": ":".join(drop_ins)}, status)
        slowest = max(slowest, time.monotonic() - begin)
        runs += 1
        stood += moved != 0
        if how:
            failed += 1
            print("FAILED:", *(f"{k}={v}" for k, v in settings.items()), "LD_PRELOAD=" + ":".join(drop_ins), *command, "--", how, flush=True)
    where = {"commit": machine.commit(ROOT), "machine": machine.computer(), "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}
    counts = {"runs": runs, "failed": failed, "stood_in_kernel": stood, "seconds": asked.seconds, "slowest_s": round(slowest, 1), "seed": asked.seed}
    print(json.dumps(counts | where))
    return failed != 0 or runs == 0


if __name__ == "__main__":
    sys.exit(main())
