// Stopping a kernel thread for a look at what it does: by SIGURG, which nobody minds (its default is to be ignored) and
// programs must expect for no reason anyway. A handler of the program's is called for those that are not ours.
#pragma once

#include <cstdint>

namespace comity::sys {

struct interruption {
    std::uintptr_t pc, sp; // where it stood
    void *frame;           // the signal's, for block_signals_after
};

// From now on `handler` is called, on the kernel thread that was interrupted, on the stack on which it stood. It may
// switch, and go on elsewhere; false: the signal was none of ours. The first call counts. Any thread; false: the
// kernel refuses.
bool take_interruptions(bool (*handler)(const interruption &) noexcept) noexcept;

// Sends one to a thread of this process. Any thread.
void interrupt_kernel_thread(int id) noexcept;

// The handler goes on on a kernel thread whose TLS is lent: there, signals stay blocked after it has returned.
void block_signals_after(void *frame) noexcept;

} // namespace comity::sys
