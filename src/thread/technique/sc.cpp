// SC: scheduler creation (Iwasaki, section 3.4.4). A thread is called on the scheduler's own stack. When it is first
// stopped it keeps that stack, and the scheduler begins anew on another one of the same size.
#include "thread/technique/technique.hpp"

namespace comity {

void run_plain_on_scheduler(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    if (!k->lends_stack) return run_plain_separately(t, k);
    core::context *c = get_plain_context(t, k);
    if (!c) [[unlikely]]
        return;
    core::call_on_transition(k, c, run_plain_threads, t);
    give_back_plain_context(c, k);
}

} // namespace comity
