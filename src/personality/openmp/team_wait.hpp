// How ranks wait for each other in a construct, and how they are told. Where a region has more ranks than there are
// harts they stand by first (spmd::stand_by): nobody has to wake them then.
#pragma once

#include "core/runtime.hpp"
#include "model/spmd/team.hpp"
#include "personality/openmp/thread.hpp"
#include "sync/wait_list.hpp"
#include "sys/clock.hpp"

namespace comity::openmp {

// Until over() is true, as wait_list::wait; who makes it true calls wake(tm, list).
template <class Over> void wait_for(const team *tm, sync::wait_list &list, Over over) noexcept {
    if (!tm->crowded) return list.wait(over);
    spmd::standby place{[](void *argument) noexcept { return (*static_cast<Over *>(argument))(); }, &over};
    std::uint64_t from = 0;
    for (unsigned i = 0; !over(); ++i) {
        const spmd::standby_end end = spmd::stand_by(place);
        if (end == spmd::standby_end::in_vain) return static_cast<void>(list.block_until(over, sys::no_deadline));
        if (end == spmd::standby_end::cannot) return list.wait(over);
        if (end == spmd::standby_end::over) continue;
        if (i % 16 == 0) {
            const std::uint64_t now = sys::ticks();
            if (from == 0) from = now;
            if (now - from > core::spin_ticks() || core::is_wanted_beyond(core::current_carrier(), now - from))
                return static_cast<void>(list.block_until(over, sys::no_deadline));
        }
        sys::cpu_relax();
    }
}

inline void wake(const team *tm, sync::wait_list &list) noexcept {
    list.wake_all();
    if (tm->crowded) spmd::call_for_standbys();
}

} // namespace comity::openmp
