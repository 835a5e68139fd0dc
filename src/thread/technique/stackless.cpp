// Stackless (Iwasaki, section 3.3.1): a thread is a function call on the stack of whoever runs it, and cannot be
// stopped. The transition context is current meanwhile, so that whatever would stop it says that it cannot.
#include "thread/technique/technique.hpp"

namespace comity {

void run_stackless(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    do {
        k->transition.runs = t;
        run_function(t);
        k->transition.runs = nullptr;
        if (core::context *waiter = publish_end(t, k)) [[unlikely]]
            core::resume(k, waiter);
        t = next_alike(work_of(k), run_stackless);
    } while (t);
}

void join_stackless(thread *t, core::context *joiner) noexcept {
    core::carrier *k = joiner->on;
    t->join.take(joiner);
    void *const before = k->transition.runs;
    k->transition.runs = t;
    core::stand_on_transition(k);
    run_function(t);
    core::stand_on(k, joiner);
    k->transition.runs = before;
    work_of(k)->add_ended();
}

} // namespace comity
