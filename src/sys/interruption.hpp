// Stopping a kernel thread for a look at what it does: by SIGURG, which nobody minds (its default is to be ignored) and
// programs must expect for no reason anyway. Ours carry a mark; a handler of the program's is called for those without.
#pragma once

#include "sys/shared.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>

namespace comity::sys {

struct interruption {
    std::uintptr_t pc, sp; // where it stood
    void *frame;           // the signal's
};

// What a signal's frame says. In a handler.
COMITY_SHARED interruption interruption_at(void *frame) noexcept;

// The innermost signal handler, the program's or not, that stands on the stack within `most` frames of `from`, or of the
// caller: what it has interrupted. False: there is none. Any thread, in signal handlers too; errno is kept.
COMITY_SHARED bool find_handler(const interruption &from, interruption &interrupted, unsigned most) noexcept;
COMITY_SHARED bool find_handler(interruption &interrupted, unsigned most) noexcept;

// From now on `handler` is called, on the kernel thread that was interrupted, on the stack on which it stood. It may
// switch, and go on elsewhere; false: the signal was none of ours. The first call counts. Any thread; false: the
// kernel refuses.
bool take_interruptions(bool (*handler)(const interruption &) noexcept) noexcept;

// The same for interruptions that `handler` says are none of its own, at any later time. It may also unwind.
COMITY_SHARED void take_other_interruptions(bool (*other)(const interruption &)) noexcept;

// For who lets the program set its own action for SIGURG: what it has set by the kernel so far.
COMITY_SHARED bool programs_action_on_interruptions(struct sigaction &action) noexcept;
// From now on `to` is called for the signals that are not ours, as the kernel's handler is, and not what the program
// has set by the kernel, in whose place ours comes again. Any thread; false: there are no interruptions.
COMITY_SHARED bool pass_other_signals(void (*to)(int, siginfo_t *, void *)) noexcept;

// What the program blocks, on kernel threads of Comity's that run its code. Any thread.
COMITY_SHARED void set_programs_mask(std::uint64_t blocked) noexcept;
// The mask of such a kernel thread, a worker or a donor with a promoted context, whatever its maker's was: the
// program's, without the signals that interrupt.
COMITY_SHARED std::uint64_t mask_of_carriers() noexcept;

// Sends one to a thread of this process. Any thread.
void interrupt_kernel_thread(int id) noexcept;

// A system call in which a thread sleeps, and which may as well begin anew.
struct sleeping_call {
    static constexpr long not_known = 1 << 20; // a call that the signal has ended with EINTR, and which one is lost
    long number = -1;                          // -1: none
    std::uint64_t first_argument = 0;
    std::uintptr_t pc = 0, sp = 0;

    bool operator==(const sleeping_call &) const = default;
};

// The one in which a thread of this process sleeps: a sleep, or a wait for input, a process, or another thread. False:
// the kernel does not tell (there is no /proc, or the process has changed its user and cannot be dumped). Any thread.
bool call_of_sleeper(int id, sleeping_call &call) noexcept;

// In a handler: the same, of the thread that was interrupted, as far as the signal's frame tells. The call has either
// been set to begin anew by the kernel, or has ended with EINTR.
sleeping_call interrupted_call(const interruption &i) noexcept;

// In a handler: the call, which the signal has ended, begins anew when the handler returns; but one that is not known
// stays ended. False: what was interrupted is not that call.
bool begin_anew(const interruption &i, const sleeping_call &call) noexcept;

// In a handler, when the call was interrupted and may sleep again, and has_rest: if it was a write of which the signal
// has left a part, this writes the rest, and the call returns the whole; if it was to wait for what it has submitted to
// an io_uring, this waits. errno is lost.
bool has_rest(const interruption &i, const sleeping_call &call) noexcept;
void go_on_with(const interruption &i, const sleeping_call &call) noexcept;
// True: the thread's code does that itself, so the above does nothing. The thread's own; in its TLS.
extern "C" {
extern COMITY_SHARED __thread bool comity_writes_in_parts __attribute__((tls_model("initial-exec")));
}

// A call by the number of a descriptor, which must not begin anew elsewhere without a look whether that is the same
// file still: `count` is raised when the thread is about to be moved in it, and then it ends with EINTR, if it can.
struct moving_call {
    std::atomic<std::uint32_t> *count = nullptr;
    bool has_moved = false;
};
// That of the thread, or null. Its own; in its TLS.
extern "C" {
extern COMITY_SHARED __thread moving_call *comity_moving_call __attribute__((tls_model("initial-exec")));
}
// How often a call of the thread's may have been ended for Comity. Its own; in its TLS.
extern "C" {
extern COMITY_SHARED __thread std::uint32_t comity_interruptions __attribute__((tls_model("initial-exec")));
}
// In a handler, before and after its thread is moved.
void begin_move() noexcept;
void end_move(const interruption &i) noexcept;

// In a handler: the system call before which or in which the thread stands ends with EINTR. To be called only where
// that is the one call that the program makes and that may end so.
COMITY_SHARED void end_call(const interruption &i) noexcept;
// The same only for a wait at a word (FUTEX_WAIT and its like).
COMITY_SHARED void end_wait_at_word(const interruption &i) noexcept;
// The same only for a call that opens, reads, writes or locks a file, whatever other calls are made there. False: it is
// none.
COMITY_SHARED bool end_file_call(const interruption &i) noexcept;

// Handlers of ours run with all signals blocked but those of faults, so that no two of them nest. Before one of them
// calls the program, or switches, it opens: the kernel thread's mask is again what it was where the signal came; and
// after that it closes, on whatever kernel thread it is then. A handler that returns leaves that one's mask and signal
// stack as they were: else the kernel would give it those of the kernel thread on which the signal came.
COMITY_SHARED void open_signals(const interruption &i) noexcept;
COMITY_SHARED void close_signals(const interruption &i) noexcept;

} // namespace comity::sys
