// Full and Full-L (Iwasaki, sections 3.3.3 and 3.4.3): a thread starts and ends by a switch. Full has its context from
// its creation, Full-L from its start.
#include "thread/technique/technique.hpp"

namespace comity {

template <bool eager> void run_by_switch(unit *u, core::carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    core::context *c = get_context<eager>(t, k);
    if (!eager && !c) [[unlikely]] // not back to the caller: a function that never returns saves no registers
        go_on_elsewhere(k);
    core::start(k, c, run_and_leave, t);
}

template <bool eager> void join_by_switch(thread *t, core::context *joiner) noexcept {
    core::context *c = get_context_to_join<eager>(t, joiner);
    if (!eager && !c) [[unlikely]]
        return;
    t->join.take(joiner);
    core::switch_start(joiner, c, run_and_leave, t);
}

template void run_by_switch<true>(unit *, core::carrier *) noexcept;
template void run_by_switch<false>(unit *, core::carrier *) noexcept;
template void join_by_switch<true>(thread *, core::context *) noexcept;
template void join_by_switch<false>(thread *, core::context *) noexcept;

} // namespace comity
