// SS and SS-L: stack separation (Iwasaki, sections 3.4.2 and 3.4.3). A thread is called on its context and nothing of
// the caller is saved: once the thread has been stopped, the scheduler begins anew. SS has its context from its
// creation, SS-L from its start.
#include "thread/technique/technique.hpp"

namespace comity {

template <bool eager> void run_separately(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    core::context *c = get_context<eager>(t, k);
    if (!eager && !c) [[unlikely]]
        return;
    core::call_from_transition(k, c, run_and_return, t);
    finish(t, k);
}

void run_plain_separately(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    core::context *c = get_plain_context(t, k);
    if (!c) [[unlikely]]
        return;
    core::call_from_transition(k, c, run_plain_threads, t);
    give_back_plain_context(c, k);
}

template void run_separately<true>(unit *, core::carrier *) noexcept;
template void run_separately<false>(unit *, core::carrier *) noexcept;

} // namespace comity
