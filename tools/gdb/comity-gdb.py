"""gdb commands for Comity: the contexts of the process and where the parked ones stand.

    (gdb) source /usr/share/comity/comity-gdb.py
    (gdb) comity threads        every context that runs or is parked: id, kind, state, kernel thread, the technique and
                                name of the user-level thread that it runs, where it is parked
    (gdb) comity threads all    the free ones too: those that were never used, and those kept for the next threads
    (gdb) comity bt ID          the backtrace of context ID (or: comity bt all)
    (gdb) comity thread ID      selects a context, as `thread` selects a kernel thread: bt, up, down, frame, info locals
                                and print are about it until the program runs on, or: comity thread off
    (gdb) comity core FILE      generate-core-file, with the stacks, which gdb leaves out if their guards are light ones

Reads the chunks of contexts that src/core/context.cpp keeps and the frame that src/core/arch saves; needs libcomity's
debug information. Writes nothing to the process, so core files do as well: while a parked context is shown (class View)
an unwinder says that the caller of the selected kernel thread's newest frame is the parked context's.
"""

import re
import struct

import gdb
import gdb.frames
import gdb.unwinder
from gdb.FrameDecorator import FrameDecorator

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
    return described(c["runs"])


def described(runs):
    try:
        t = runs.cast(gdb.lookup_type("comity_thread").pointer())
        technique = TECHNIQUES[int(t["how"])]
        apart = gdb.lookup_type("comity::descriptor_block").fields()
        rest = int(t) + next(f.type.sizeof for f in apart if f.name == "threads")
        more = gdb.Value(rest).cast(gdb.lookup_type("comity_thread_rest").pointer())["more"]["_M_b"]["_M_p"]
        return technique, more["name"].string() if int(more) else ""
    except (gdb.error, IndexError):
        return "?", ""  # another C++ library, or something else than a thread


def stackless():
    """The stackless threads that run, each on the stack of whoever runs it: its kernel thread, technique and name."""
    found = {}
    for c in contexts():
        if int(c["home"]) and int(c["home"]["transition"]["runs"]):
            k = c["home"].dereference()
            found[int(k["kernel_id"])] = described(k["transition"]["runs"])
    return [(kernel, *of) for kernel, of in sorted(found.items())]


def kernel_thread(c):
    return int(c["on"]["kernel_id"]) if state(c) == "running" and int(c["on"]) else None


def parked_frame(c):
    """The registers of a parked context, by name."""
    offsets, stack, size = machine()
    sp = int(c["sp"])
    registers = {name: word(sp + offset) for name, offset in offsets.items()}
    registers[stack] = sp + size
    return registers


def stands_at(frame):
    return int(frame.read_register("sp")), int(frame.read_register("pc"))


class View:
    """A parked context in place of what the selected kernel thread does. One is shown at a time, or none."""

    shown = None
    past_main = False  # the setting of the user's

    def __init__(self, c):
        self.id, self.kind, self.sp = int(c["id"]), kind(c), int(c["sp"])
        self.registers = parked_frame(c)
        if not self.registers.get("rip") and not self.registers.get("pc"):
            raise gdb.GdbError(f"comity: the core file lacks the stack of context {self.id}: gdb's generate-core-file "
                               "leaves out what is behind a light guard, `comity core FILE` does not")
        self.thread = gdb.selected_thread().ptid
        self.live = stands_at(gdb.newest_frame())

    def replaces(self, frame):
        """Whether the frame is the one whose caller is the parked context's; nothing else of the thread has its sp and
        pc, except the functions inlined there, which are newer frames."""
        return gdb.selected_thread().ptid == self.thread and stands_at(frame) == self.live

    @staticmethod
    def show(view):
        if view and not View.shown:
            View.past_main = gdb.parameter("backtrace past-main")
        if view or View.shown:  # the thread may be in main, and gdb look for no caller of that
            gdb.execute(f"set backtrace past-main {'on' if view or View.past_main else 'off'}")
        View.shown = view
        Filter.only.enabled = view is not None
        gdb.invalidate_cached_frames()
        if view:
            innermost().select()


def innermost():
    """The parked context's innermost frame while one is shown, else the thread's."""
    frame = gdb.newest_frame()
    while View.shown and View.shown.replaces(frame):
        if not frame.older():
            raise gdb.GdbError(f"comity: context {View.shown.id} cannot be shown: {stop_reason(frame)}")
        frame = frame.older()
    return frame


def stop_reason(frame):
    return gdb.frame_stop_reason_string(frame.unwind_stop_reason())


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Unwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("comity")

    def __call__(self, pending):
        view = View.shown
        if not view or not view.replaces(pending):
            return None
        kind = gdb.lookup_type("unsigned long")
        values = {name: gdb.Value(value).cast(kind) for name, value in view.registers.items()}
        pc = values["rip" if "rip" in values else "pc"]
        # Below the caller's frame, or gdb takes the stack for corrupt.
        claimed = pending.create_unwind_info(FrameId(gdb.Value(view.sp).cast(kind), pc))
        for name, value in values.items():
            claimed.add_saved_register(name, value)
        return claimed


class Plain(FrameDecorator):
    """A frame as a backtrace without filters shows it: the function's name without its parameters' types."""

    def function(self):
        name = super().function()
        if not isinstance(name, str) or not re.search(r"\)( const| volatile| noexcept|&)*$", name):
            return name
        depth, at = 1, name.rindex(")")
        while depth and at:
            at -= 1
            depth += {")": 1, "(": -1}.get(name[at], 0)
        return name if name[:at] in ("", "operator") or name[:at].endswith("::operator") else name[:at]


class Seam(FrameDecorator):
    """Stands in a backtrace for what the kernel thread does, of which nothing is shown."""

    def __init__(self, below, view):
        super().__init__(below)
        self.view = view

    def function(self):
        return f"<context {self.view.id}, {self.view.kind}, parked>"

    def address(self):
        return None

    def filename(self):
        return None

    line = frame_args = frame_locals = filename


class Filter:
    """Only while a view is shown: leaves out the thread's own frames, but for one, which names the context."""

    def __init__(self):
        Filter.only = self
        self.name, self.priority, self.enabled = "comity", 100, False
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        seam = None
        for decorated in frames:
            if View.shown and View.shown.replaces(decorated.inferior_frame()):
                seam = decorated
                continue
            if seam:
                yield Seam(seam, View.shown)
                seam = None
            yield Plain(decorated)
            if View.shown and not View.past_main and decorated.inferior_frame().name() == "main":
                return


def of_kernel_thread(number):
    return next((t for t in gdb.selected_inferior().threads() if t.ptid[1] == number), None)


def backtrace(c, depth=40):
    """Leaves selected what was: a thread, a frame, and the context that is shown."""
    if state(c) not in ("running", "parked"):
        return f"{state(c)}: it has no frames\n"
    before = gdb.selected_thread()
    if not before:
        raise gdb.GdbError("comity: no thread is selected")
    view, frame = View.shown, gdb.selected_frame().level()
    try:
        if state(c) == "parked":
            View.show(View(c))
            lines = gdb.execute(f"bt {depth}", to_string=True).splitlines(keepends=True)
            return "".join(l for l in lines if f" <context {View.shown.id}," not in l)
        thread = of_kernel_thread(kernel_thread(c))
        if not thread:
            return f"runs on kernel thread {kernel_thread(c)}\n"
        View.show(None)
        thread.switch()
        return gdb.execute(f"bt {depth}", to_string=True)
    except (gdb.error, gdb.GdbError) as error:
        return f"{error}\n"
    finally:
        before.switch()
        View.show(view)
        gdb.execute(f"frame {frame}", to_string=True)


class Comity(gdb.Command):
    """Contexts of a process that runs on Comity: comity threads [all], comity bt ID|all, comity thread ID|off."""

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
                where = (inner or lines or ["# ?"])[0].split(None, 1)[-1]
            technique, name = thread(c)
            print(f"{int(c['id']):>6} {kind(c):<7} {state(c):<8} {kernel_thread(c) or '':>8}  {technique:<9} {name:<16}  {where}")
        for kernel, technique, name in stackless():
            print(f"{'-':>6} {'-':<7} {'running':<8} {kernel:>8}  {technique:<9} {name:<16}  on the stack of who runs it")
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
        for c in contexts() if wanted == "all" else [named(wanted)]:
            print(f"context {int(c['id'])} ({kind(c)}, {state(c)})")
            print(backtrace(c), end="")


class Thread(gdb.Command):
    """Selects one context, as `thread` selects a kernel thread: bt, up, down, frame, info locals and print are about it
    then. comity thread off, or a stop of the program: the kernel thread again. comity thread: which one is selected.
    Registers that a switch does not keep are shown as <not saved>; thread-local variables are the kernel thread's."""

    def __init__(self):
        super().__init__("comity thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        wanted = argument.strip()
        if not wanted:
            view = View.shown
            print(f"[context {view.id} ({view.kind}, parked)]" if view else "no parked context is selected")
            return
        if wanted == "off":
            View.show(None)
        else:
            self.select(named(wanted))
        gdb.execute("frame")

    @staticmethod
    def select(c):
        if state(c) not in ("running", "parked"):
            raise gdb.GdbError(f"comity thread: context {int(c['id'])} is {state(c)}: it has no frames")
        thread = of_kernel_thread(kernel_thread(c))
        if state(c) == "running" and not thread:
            raise gdb.GdbError(f"comity thread: gdb does not know kernel thread {kernel_thread(c)}, which runs it")
        View.show(None)
        if thread:
            thread.switch()
        else:
            View.show(View(c))
        print(f"[Switching to context {int(c['id'])} ({kind(c)}, {state(c)})]")


class Core(gdb.Command):
    """Writes a core file: comity core FILE. Stacks have light guards (MADV_GUARD_INSTALL) where the kernel knows them, and
    gdb's generate-core-file, whose core file it is, gives up a mapping at the first page that it cannot read."""

    PAGE, CHUNK = 4096, 1 << 20

    def __init__(self):
        super().__init__("comity core", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        argv = gdb.string_to_argv(argument)
        if len(argv) != 1:
            raise gdb.GdbError("comity core: name the file to write")
        gdb.execute(f"generate-core-file {argv[0]}", to_string=True)
        memory = gdb.selected_inferior()
        with open(argv[0], "r+b") as core:
            for offset, address, size in self.loads(core):
                if any(self.read(memory, at, n) is None for at, n in self.parts(address, size, self.CHUNK)):
                    self.mend(core, memory, offset, address, size)
        print(f"Saved corefile {argv[0]}")

    @staticmethod
    def loads(core):
        """Where the ELF file has what memory: offset, address, size."""
        head = core.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            raise gdb.GdbError("comity core: not a little-endian ELF file of 64 bits")
        start, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        if count == 0xffff:
            core.seek(struct.unpack_from("<Q", head, 40)[0])
            count, = struct.unpack_from("<I", core.read(64), 44)
        core.seek(start)
        table = core.read(size * count)
        found = [struct.unpack_from("<IIQQQQ", table, size * i) for i in range(count)]
        return [(offset, address, n) for kind, _, offset, address, _, n in found if kind == 1 and n]

    @staticmethod
    def parts(address, size, step):
        return ((address + at, min(step, size - at)) for at in range(0, size, step))

    @staticmethod
    def read(memory, address, size):
        try:
            return bytes(memory.read_memory(address, size))
        except gdb.error:
            return None

    def mend(self, core, memory, offset, address, size):
        for at, n in self.parts(address, size, self.CHUNK):
            whole = self.read(memory, at, n)
            pieces = [(at, whole)] if whole else ((p, self.read(memory, p, k)) for p, k in self.parts(at, n, self.PAGE))
            for piece, content in pieces:
                if content and content.strip(b"\0"):  # or it stays a hole
                    core.seek(offset + piece - address)
                    core.write(content)


def named(wanted):
    for c in contexts():
        if str(int(c["id"])) == wanted:
            return c
    raise gdb.GdbError(f"comity: there is no context {wanted}; `comity threads` lists them")


def forget(_):
    """The program has run: where contexts stood is no more."""
    if View.shown:
        View.show(None)


Comity()
Threads()
Thread()
Backtrace()
Core()
Filter()
gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
gdb.events.stop.connect(forget)
gdb.events.exited.connect(forget)
