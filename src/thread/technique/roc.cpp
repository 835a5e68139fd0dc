// RoC and RoC-L: return on completion (Iwasaki, sections 3.4.1 and 3.4.3). A thread is called on its context with the
// caller's registers saved. If it is never stopped it returns, and the caller goes on without a switch; a thread that
// was stopped ends by a switch. RoC has its context from its creation, RoC-L from its start.
#include "thread/technique/technique.hpp"

namespace comity {

template <bool eager> void run_by_call(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    core::context *c = get_context<eager>(t, k);
    if (!eager && !c) [[unlikely]]
        return;
    core::call(&k->transition, c, run_and_return, t);
    finish(t, k);
}

void run_plain_by_call(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    core::context *c = get_plain_context(t, k);
    if (!c) [[unlikely]]
        return;
    core::call(&k->transition, c, run_plain_threads, t);
    give_back_plain_context(c, k);
}

template <bool eager> void join_by_call(thread *t, core::context *joiner) noexcept {
    core::context *c = get_context_to_join<eager>(t, joiner);
    if (!eager && !c) [[unlikely]]
        return;
    t->join.take(joiner);
    if (!core::call(joiner, c, run_and_return, t)) return;
    part_from_context(t, joiner->on);
    work_of(joiner->on)->add_ended();
}

template void run_by_call<true>(unit *, core::carrier *) noexcept;
template void run_by_call<false>(unit *, core::carrier *) noexcept;
template void join_by_call<true>(thread *, core::context *) noexcept;
template void join_by_call<false>(thread *, core::context *) noexcept;

} // namespace comity
