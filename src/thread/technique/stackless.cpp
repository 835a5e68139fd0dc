// Stackless (Iwasaki, section 3.3.1): a thread is a function call on the stack of whoever runs it, and cannot be
// stopped. The transition context is current meanwhile, so that whatever would stop it says that it cannot.
#include "thread/technique/technique.hpp"

namespace comity {

namespace {

// The C++ runtime's state on this carrier is that of a context, which is saved when it stops but not taken away.
[[gnu::always_inline]] inline void forget_exceptions(const core::carrier *k) noexcept {
    if (k->caught->caught || k->caught->uncaught) [[unlikely]]
        *k->caught = {};
}

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
    forget_exceptions(k);
    work_of(k)->owner->alone() ? run_one_by_one<true>(t, k) : run_one_by_one<false>(t, k);
}

void join_stackless(thread *t, core::context *joiner) noexcept {
    core::carrier *k = joiner->on;
    t->join.take(joiner);
    void *const before = k->transition.runs;
    k->transition.runs = t;
    core::stand_on_transition(k);
    const core::exception_state caught = *k->caught;
    forget_exceptions(k);
    run_function(t);
    *k->caught = caught;
    core::stand_on(k, joiner);
    k->transition.runs = before;
    work_of(k)->add_ended();
}

} // namespace comity
