// SC: scheduler creation (Iwasaki, section 3.4.4). A thread is called on the scheduler's own stack. When it is first
// stopped it keeps that stack, and the scheduler begins anew on another one of the same size.
#include "thread/technique/technique.hpp"

namespace comity {

void run_on_scheduler(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    if (!k->lends_stack || t->own_tls || t->stack_size != 0) return run_separately<false>(t, k);
    core::call_on_transition(k, get_context<false>(t, k), run_and_return, t);
    part_from_context(t, k);
    if (core::context *waiter = publish_end(t, k)) [[unlikely]]
        core::resume(k, waiter);
}

} // namespace comity
