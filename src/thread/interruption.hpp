// Waits that a request to cancel the waiting thread ends. Protocol "Cancelled waits": README.md.
#pragma once

#include "core/carrier.hpp"
#include "sys/fence.hpp"
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

// The thread that runs on `c`, the calling context, which holds a hart, if a request may end its wait; else null.
[[gnu::always_inline]] inline thread *thread_to_interrupt(const core::context *c) noexcept {
    thread *t = thread_of(c);
    if (!t || t->how == COMITY_TECHNIQUE_STACKLESS || (c->self.is_in_fork() && !t->unwinds())) return nullptr;
    const thread_extension *x = extension_of(t);
    constexpr std::uintptr_t never = thread_extension::disabled | thread_extension::ending;
    return x && (x->state.load(std::memory_order_relaxed) & never) != 0 ? nullptr : t;
}
// The same for any caller.
inline thread *thread_to_interrupt() noexcept {
    const core::context *c = core::current_context();
    return c && c->on->carried ? thread_to_interrupt(c) : nullptr;
}
// Others may use the interruption. Before the wait the caller must look for a request, after a fence (sys/fence.hpp).
inline void announce_wait(thread *t, interruption &i) noexcept {
    t->rest().waits.store(&i, std::memory_order_release); // release[thread-waits]
}
// The same, and that look. A request that comes from now on ends the wait by i.take. False: it has come before, so
// there must be no wait; close_to_cancel follows in any case. `t` is the caller.
[[nodiscard]] bool open_to_cancel(thread *t, interruption &i) noexcept;
// After it nobody refers to the interruption.
[[gnu::always_inline]] inline void close_to_cancel(thread *t) noexcept {
    t->rest().waits.store(nullptr, std::memory_order_relaxed);
    sys::light_fence(); // with end_wait's
    if (const thread_extension *x = extension_of(t)) [[unlikely]]
        await_taker(x);
}

} // namespace comity
