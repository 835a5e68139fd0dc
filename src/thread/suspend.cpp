// A thread stops itself until somebody resumes it. Protocol "Suspend and cancel": README.md.
#include "thread/extension.hpp"

#include <cerrno>

namespace comity {

using core::carrier;
using core::context;

namespace {

// On the transition context: from the exchange on somebody may resume the thread elsewhere, and end it.
void park_suspended(context *c, void *argument) {
    auto *x = static_cast<thread_extension *>(argument);
    carrier *k = core::current_carrier();
    std::uintptr_t now = x->state.load(std::memory_order_relaxed);
    do
        if (is_cancelled(now)) core::resume(k, c);
    while (!x->state.compare_exchange_weak(now, now | reinterpret_cast<std::uintptr_t>(c),
                                           std::memory_order_acq_rel)); // acq_rel[suspend]
    core::block(k, c);
}

} // namespace

context *take_suspended(thread_extension *x, std::uintptr_t set, std::uintptr_t &before) noexcept {
    before = x->state.load(std::memory_order_relaxed);
    for (;;) {
        // A request wakes nobody who has disabled it, nor a cleanup handler that waits.
        const bool takes = set == 0 || (before & (thread_extension::disabled | thread_extension::ending)) == 0;
        std::uintptr_t after = (takes ? before & thread_extension::bits : before) | set;
        if (set != 0 && before == 0) after |= thread_extension::taking;
        if (x->state.compare_exchange_weak(before, after, std::memory_order_acq_rel)) // acq_rel[suspend]
            return takes ? reinterpret_cast<context *>(before & ~thread_extension::bits) : nullptr;
    }
}

} // namespace comity

using namespace comity;

extern "C" {

int comity_thread_suspend(void) {
    thread *t = own_thread();
    if (!t) return EPERM;
    thread_extension *x = extend(t);
    if (!x) return ENOMEM;
    if (const int error = cancel_here()) return error;
    core::pause(core::current_context(), park_suspended, x);
    return cancel_here();
}

int comity_thread_resume(comity_thread_t *handle) {
    if (!handle) return EINVAL;
    thread_extension *x = extension_of(static_cast<thread *>(handle));
    std::uintptr_t before = 0;
    context *c = x ? take_suspended(x, 0, before) : nullptr;
    if (!c) return EINVAL;
    core::unblock(c);
    return 0;
}
}
