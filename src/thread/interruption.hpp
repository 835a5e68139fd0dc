// Waits that a request to cancel the waiting thread ends. Protocol "Cancelled waits": README.md.
#pragma once

#include "thread/extension.hpp"

namespace comity {

// How a thread that waits is taken from where it waits. On its stack; others know of it from open_to_cancel to
// close_to_cancel.
struct interruption {
    // Takes the context out, so that nobody else resumes it; null: somebody has, or the thread is on its way out. By
    // who requests, while nobody else does. Never switches.
    core::context *(*take)(interruption *self) noexcept;
    // Where there is one hart only, `take` needs it.
    bool with_hart = false;
};

// The calling thread, which holds a hart, if a request may end its wait, else null.
thread *thread_to_interrupt() noexcept;
// Others may use the interruption. Before the wait the caller must look for a request, after a fence seq_cst[cancel].
inline void announce_wait(thread *t, interruption &i) noexcept {
    t->waits.store(&i, std::memory_order_release); // release[thread-waits]
}
// The same, and that look. A request that comes from now on ends the wait by i.take. False: it has come before, so
// there must be no wait; close_to_cancel follows in any case. `t` is the caller.
[[nodiscard]] bool open_to_cancel(thread *t, interruption &i) noexcept;
// After it nobody refers to the interruption.
void close_to_cancel(thread *t) noexcept;

} // namespace comity
