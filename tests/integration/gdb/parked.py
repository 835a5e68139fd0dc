"""In gdb, where parked.cpp has stopped: parked contexts are shown and selected, and no register of the process is written;
on the process, then on a core file of it."""

import os
import tempfile

import gdb

wrong = []


def run(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error as error:
        return f"error: {error}"


def expect(command, *parts, count=1, without=()):
    said = run(command)
    missing = [p for p in parts if said.count(p) < count] + [f"not {p}" for p in without if p in said]
    if missing:
        wrong.append(f"{command}: {missing} in\n{said}")


def parked():
    return [line.split()[0] for line in run("comity threads").splitlines() if " full    parked " in line]


def check(where):
    registers, frames = run("info registers"), run("bt")
    if len(parked()) != 3:
        wrong.append(f"{where}: 3 parked ones, but\n{run('comity threads')}")
    expect("comity threads", "parked_below_here (rank=", count=3)
    expect("comity bt all", "parked_below_here (rank=", count=3, without=["<context"])
    expect("comity bt 77", "there is no context 77")
    ranks = set()
    for id in parked():
        expect(f"comity bt {id}", f"context {id} (full, parked)", "parked_below_here")
        expect(f"comity thread {id}", f"[Switching to context {id} (full, parked)]", "comity::")
        expect("comity thread", f"[context {id} (full, parked)]")
        expect("bt", f"<context {id}, full, parked>", "parked_below_here (", without=["stops_here", " main ("])
        expect("comity bt 1", "stops_here", without=["parked_below_here"])
        expect("thread apply all bt", "parked_below_here", without=["stops_here"])
        for _ in range(20):  # up to the frame of a telling name
            if "in_stack" in run("info locals"):
                break
            run("up")
        ranks.add(int(gdb.parse_and_eval("rank")))
        expect("print in_stack[1]", f"= {int(gdb.parse_and_eval('rank')) + 100}")
        here = gdb.selected_frame().level()
        run("down")
        if gdb.selected_frame().level() != here - 1:
            wrong.append("no frame below")
    if ranks != {1, 2, 3}:
        wrong.append(f"{where}: selected ranks {ranks}")
    expect("comity thread off", "stops_here", without=["error"])
    expect("comity thread", "no parked context is selected")
    if registers != run("info registers") or frames != run("bt"):
        wrong.append(f"{where}: what is shown of the kernel thread has changed:\n{registers}{run('info registers')}{frames}{run('bt')}")


check("live")
with tempfile.TemporaryDirectory() as folder:
    core = os.path.join(folder, "core")
    expect(f"comity core {core}", f"Saved corefile {core}")
    expect(f"comity thread {(parked() or ['none'])[0]}", "Switching to context")
    run("step")
    expect("comity thread", "no parked context is selected")
    run("kill")
    run(f"core-file {core}")
    check("core")
print("\n".join(wrong) if wrong else "live and in a core file")
