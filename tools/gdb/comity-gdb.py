"""gdb commands for Comity: the contexts of the process and where the parked ones stand.

    (gdb) source /usr/share/comity/comity-gdb.py
    (gdb) comity threads        every context that runs or is parked: id, kind, state, kernel thread, the technique and
                                name of the user-level thread that it runs, where it is parked
    (gdb) comity threads all    the free ones too: those that were never used, and those kept for the next threads
    (gdb) comity bt ID          the backtrace of context ID (or: comity bt all)

Reads the chunks of contexts that src/core/context.cpp keeps and the frame that src/core/arch saves; needs libcomity's debug information.
"""

import gdb

STATES = ["fresh", "running", "parked", "exited"]
# comity_technique_t (include/comity/thread.h)
TECHNIQUES = ["roc_l", "full", "full_l", "roc", "roc_l", "ss", "ss_l", "sc", "stackless", "c_full", "c_full_e", "c_roc",
              "c_roc_e", "automatic"]
# Offsets in the frame at a parked context's saved stack pointer (src/core/arch/switch_*.S), and what is above the frame.
FRAMES = {
    "x86-64": ({"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48, "rip": 56}, "rsp", 64),
    "aarch64": ({"x29": 0, "pc": 8, "x30": 8, "x19": 16, "x20": 24, "x21": 32, "x22": 40, "x23": 48, "x24": 56,
                 "x25": 64, "x26": 72, "x27": 80, "x28": 88}, "sp", 176),
}


def machine():
    name = gdb.selected_inferior().architecture().name()
    if "x86-64" in name:
        return FRAMES["x86-64"]
    if "aarch64" in name:
        return FRAMES["aarch64"]
    raise gdb.GdbError(f"comity: no contexts are known on {name}")


def word(address):
    kind = gdb.lookup_type("unsigned long")
    return int(gdb.Value(address).cast(kind.pointer()).dereference())


def contexts():
    """Every context of the process, in the order of their ids."""
    head = None
    for name in ("comity::core::comity_context_chunks", "comity_context_chunks"):
        for symbol in (gdb.lookup_global_symbol(name), gdb.lookup_static_symbol(name)):
            try:
                head = head or (symbol and symbol.value())
            except gdb.error:
                pass  # a file's declaration of it
    if head is None:
        try:  # the address from the symbol table, the type from the debug information
            head = gdb.parse_and_eval("*(comity::core::context_chunk **)&'comity_context_chunks'")
        except gdb.error:
            raise gdb.GdbError("comity: the process has no libcomity, or its debug information is missing") from None
    found = []
    at = head
    while int(at):
        chunk = at.dereference()
        for i in range(int(chunk["carved"])):
            if int(chunk["first"][i]["id"]):
                found.append(chunk["first"][i])
        at = chunk["next"]
    return sorted(found, key=lambda c: int(c["id"]))


def state(c):
    return STATES[int(c["state"])]


def is_free(c):
    return state(c) in ("fresh", "exited")


def kind(c):
    if int(c["home"]):
        return "native"
    return "full" if int(c["tls_base"]) else "bare"


def thread(c):
    """The technique and the name of the user-level thread whose function the context executes: two strings."""
    if state(c) not in ("running", "parked") or not int(c["runs"]):
        return "", ""
    try:
        t = c["runs"].cast(gdb.lookup_type("comity_thread").pointer())
        technique = TECHNIQUES[int(t["how"])]
        apart = gdb.lookup_type("comity::descriptor_block").fields()
        rest = int(t) + next(f.type.sizeof for f in apart if f.name == "threads")
        more = gdb.Value(rest).cast(gdb.lookup_type("comity_thread_rest").pointer())["more"]["_M_b"]["_M_p"]
        return technique, more["name"].string() if int(more) else ""
    except (gdb.error, IndexError):
        return "?", ""  # another C++ library, or something else than a thread


def kernel_thread(c):
    return int(c["on"]["kernel_id"]) if state(c) == "running" and int(c["on"]) else None


def parked_frame(c):
    """The registers of a parked context, by name."""
    offsets, stack, size = machine()
    sp = int(c["sp"])
    registers = {name: word(sp + offset) for name, offset in offsets.items()}
    registers[stack] = sp + size
    return registers


def backtrace(c, depth=40):
    if state(c) == "running":
        thread = kernel_thread(c)
        for t in gdb.selected_inferior().threads():
            if t.ptid[1] == thread:
                before = gdb.selected_thread()
                t.switch()
                text = gdb.execute(f"bt {depth}", to_string=True)
                before.switch()
                return text
        return f"runs on kernel thread {thread}\n"
    if state(c) != "parked":
        return f"{state(c)}: it has no frames\n"
    registers = parked_frame(c)
    gdb.execute("frame 0", to_string=True)
    before = {name: int(gdb.parse_and_eval(f"${name}")) for name in registers}
    try:
        for name, value in registers.items():
            gdb.execute(f"set ${name} = {value}", to_string=True)
        return gdb.execute(f"bt {depth}", to_string=True)
    finally:
        for name, value in before.items():
            gdb.execute(f"set ${name} = {value & (2**64 - 1)}", to_string=True)


class Comity(gdb.Command):
    """Contexts of a process that runs on Comity: comity threads [all], comity bt ID|all."""

    def __init__(self):
        super().__init__("comity", gdb.COMMAND_STACK, prefix=True)


class Threads(gdb.Command):
    """Lists the contexts that run or are parked: id, kind, state, kernel thread, their threads' techniques and names,
    and where the parked ones stand. comity threads all: the free ones too."""

    def __init__(self):
        super().__init__("comity threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        wanted = argument.strip()
        if wanted not in ("", "all"):
            raise gdb.GdbError(f"comity threads: not {wanted}, but nothing or `all`")
        every = contexts()
        used = [c for c in every if not is_free(c)]
        print(f"{'id':>6} {'kind':<7} {'state':<8} {'kernel':>8}  {'technique':<9} {'name':<16}  where")
        for c in every if wanted else used:
            where = ""
            if state(c) == "parked":
                lines = [l for l in backtrace(c, 12).splitlines() if l.startswith("#")]
                inner = [l for l in lines if not any(s in l for s in ("comity::", "comity_arch", " std::"))]
                where = (inner or lines or [""])[0].split(None, 1)[-1]
            technique, name = thread(c)
            print(f"{int(c['id']):>6} {kind(c):<7} {state(c):<8} {kernel_thread(c) or '':>8}  {technique:<9} {name:<16}  {where}")
        if not wanted and len(used) < len(every):
            print(f"and {len(every) - len(used)} free ones: comity threads all")


class Backtrace(gdb.Command):
    """The backtrace of one context: comity bt ID, or of all: comity bt all."""

    def __init__(self):
        super().__init__("comity bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        wanted = argument.strip()
        if not wanted:
            raise gdb.GdbError("comity bt: name a context, as `comity threads` lists them, or `all`")
        every = contexts()
        chosen = [c for c in every if wanted == "all" or str(int(c["id"])) == wanted]
        if not chosen:
            raise gdb.GdbError(f"comity bt: there is no context {wanted}; `comity threads` lists them")
        for c in chosen:
            print(f"context {int(c['id'])} ({kind(c)}, {state(c)})")
            print(backtrace(c), end="")


Comity()
Threads()
Backtrace()
