// Stackless (Iwasaki, section 3.3.1): a thread is a function call on the stack of whoever runs it, and cannot be
// stopped. The transition context is current meanwhile, so that whatever would stop it says that it cannot.
#include "thread/technique/on_joiner.hpp"

namespace comity {

namespace {

template <bool alone> [[gnu::always_inline]] inline void run_one_by_one(thread *t, core::carrier *k) noexcept {
    next_alike next(run_stackless, alone);
    do {
        k->transition.runs = t;
        run_function(t);
        k->transition.runs = nullptr;
        if (core::context *waiter = publish_end(t, k, alone)) [[unlikely]]
            core::resume(k, waiter);
        t = next.take(k, false);
    } while (t);
}

} // namespace

COMITY_HOT void run_stackless(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    // The C++ runtime's state on this carrier is that of a context, which is saved when it stops but not taken away.
    if (catches(k)) [[unlikely]]
        *k->caught = {};
    work_of(k)->owner->alone() ? run_one_by_one<true>(t, k) : run_one_by_one<false>(t, k);
}

void run_beside_exceptions(thread *t, const core::carrier *k) noexcept {
    const core::exception_state caught = *k->caught;
    *k->caught = {};
    run_function(t);
    *k->caught = caught;
}

void join_stackless(thread *t, core::context *joiner) noexcept { run_stackless_here(t, joiner); }

} // namespace comity
