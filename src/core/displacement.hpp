// Displacement: a kernel thread that is with a context which neither ends nor stops, while its own computation or
// others wait for it, is interrupted, and that context goes on as promoted. README.md, "Displacement".
#pragma once

#include "sys/interruption.hpp"
#include "sys/shared.hpp"

#include <cstdint>

namespace comity::core {

struct context;
struct sched;

// Contexts of this scheduler that others wait for give their harts up after so many looks, wherever in the program's
// code they are: its hook `displaced` says whether they are there. looks 0: there are no slices. overdue, if not 0: for
// longer no hart has looked for work there, so one that is in a scheduler below is taken out of that, by this number.
struct time_slice {
    const sched *of = nullptr;
    unsigned looks = 0, overdue = 0;
};

// Who looks. Each counts its own looks: another one, with other contexts in view, may have nobody who waits.
enum class watcher : unsigned { regions, threads, scopes };

struct look_order {
    watcher by;
    unsigned looks;     // for how many an own computation waits for its thread, and others for a context in a loop
    bool harts_missing; // others wait for a hart in vain
    time_slice slice = {};
};

// Is a hart with a context; does any thread's own computation wait for its thread; has each hart computed for one
// context since the last look, while others wait?
struct look_result {
    bool runs = false, home = false, all_kept = false;
    unsigned below = 0; // harts that could be taken out of one
};

// To be called regularly by each watch, on the timers' thread. An own computation that has waited for `looks` calls is
// given its thread back, if the context there can be promoted. If harts are missing, every carrier that has been with
// one context for that long, in one loop or in a sleep, gives it up, too.
COMITY_SHARED look_result look_after_homes(const look_order &order) noexcept;

// The object that this address is in is part of Comity: a context is not displaced while it executes code there. Any
// thread.
COMITY_SHARED void protect_code_at(const void *address) noexcept;
// Such an object whose functions stand before the C library's: where one of these makes such a call, Comity has nothing
// in hand. One object; when it is loaded.
COMITY_SHARED void note_code_that_calls(const void *address) noexcept;

// Is this address in such an object? Any thread, also in a handler.
COMITY_SHARED bool is_protected_code(std::uintptr_t pc) noexcept;

// A function in such an object that calls the program's code for a rank or a task, and counts on nothing there that a
// switch would change. Any thread; further ones than there is room for are not known.
COMITY_SHARED void note_caller_of_program(const void *function) noexcept;

// Does one of those begin at this address? Any thread, also in a handler.
COMITY_SHARED bool is_caller_of_program(std::uintptr_t function) noexcept;
// Did the interruption find Comity's own code, with whose state the program's code in it does not reckon? A handler
// that runs there must not switch. By the unwind tables; of code without any, yes. In a signal handler.
COMITY_SHARED bool stands_amid_comity(const sys::interruption &at) noexcept;
// Is the caller, a context, in such a handler of the program's that the kernel has called? Looks at some frames of the
// stack alone, and takes a microsecond.
COMITY_SHARED bool is_in_handler_amid_comity() noexcept;
// For a caller that does not return, such as exit: if it is in such a handler, or in one amid Comity's start, nothing
// switches from now on where it runs: regions have one rank, and calls sleep in the kernel. Any thread, also in
// handlers.
COMITY_SHARED void stay_in_handler() noexcept;
// Forks if the caller is in such a handler: the locks that a fork holds may be the interrupted code's, so no handler of
// forks runs, and the child stays in the handler. False: it is in none, or the C library (before 2.34) has no such
// fork.
COMITY_SHARED bool fork_in_handler(int &child) noexcept;

// Carriers take interruptions (sys/interruption.hpp) from the first call on; false: they cannot.
COMITY_SHARED bool take_interruptions() noexcept;

// The calling context goes on without its hart, as if it were displaced where it stands. False: it cannot, or its
// scheduler does not let it. Switches.
COMITY_SHARED bool go_without_hart() noexcept;

// The caller yields in a loop, or looks for a lock in vain: once others have waited for a hart for a millisecond of
// that, be it `is_waited_for` or in the base scheduler's line, it goes on without its own; one that gets on meanwhile
// (note_progress_in_loop), after 100 ms. May switch.
COMITY_SHARED void give_way_in_loop(bool is_waited_for) noexcept;

// What give_way_in_loop knows of the calling context's loop: since when others have waited, as far as it has seen, and
// when it looked last (ticks; 0: it is in none).
struct loop_of_looks {
    std::uint64_t since, last;
    bool gets_on;
};
extern COMITY_SHARED __thread loop_of_looks own_loop __attribute__((tls_model("initial-exec")));

// The caller has what it has looked for, so this is no loop that waits for one without a hart. Never switches.
inline void note_progress_in_loop() noexcept {
    if (own_loop.since != 0) [[unlikely]]
        own_loop.gets_on = true;
}

// Interrupts the kernel thread that seems to run the context, if one does. Any thread.
COMITY_SHARED void interrupt(const context *c) noexcept;

// The calling context is about to sleep in the kernel, and nobody waits for its hart: it keeps that, and will have it
// when it wakes; until somebody needs one, who then has the context displaced at once ("Dozing": README.md). False:
// somebody waits, or it cannot be displaced, and nothing has changed. Does not switch; makes a kernel thread at most.
COMITY_SHARED bool doze() noexcept;

// Does anybody wait for a hart of the caller's scheduler, as far as a look tells? Then doze() would say false.
COMITY_SHARED bool is_hart_wanted() noexcept;

// A thread is about to sleep in a call, with its hart or without. Any thread.
COMITY_SHARED void note_call_that_sleeps() noexcept;

// Has one within the last few milliseconds? Then what happens outside the process sets the pace, and a hart that has
// nothing to do does not spin: it would take the core from who brings the next event.
COMITY_SHARED bool is_paced_by_calls() noexcept;

// How many searches of harts for work have taken long, so far: the harts have time. May wrap. Any thread.
COMITY_SHARED std::uint32_t long_searches() noexcept;
COMITY_SHARED void note_long_search() noexcept;

// It does not sleep any more. Any context, also one that did not doze, or that has been displaced meanwhile; also in a
// signal's handler on its carrier.
COMITY_SHARED void stop_dozing() noexcept;

} // namespace comity::core
