#include "sync/lock_spin.hpp"

#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "sys/clock.hpp"

#include "comity/core.h"

#include <algorithm>

namespace comity::sync {

namespace {

constexpr std::uint64_t longest_pause_us = 4;
constexpr std::uint64_t short_spin_us = 4; // while the hart could do something else

enum class around : std::uint8_t { nothing, others, crowd };

// Is there anything else for the hart? Without one: may the kernel thread spin?
around look_around() noexcept {
    const core::carrier *k = core::current_carrier();
    if (!k) return around::nothing;
    if (!k->carried) return core::may_spin() ? around::nothing : around::crowd;
    core::sched *s = k->current_sched;
    return s->hooks && s->hooks->other_work(s) ? around::others : around::nothing;
}

} // namespace

lock_spin::lock_spin(unsigned first_pause_ns) noexcept
    : from_(sys::ticks()),
      now_(from_),
      pause_(comity_hart_count() == 1 ? 0 : core::ticks_per_us() * first_pause_ns / 1000) {}

bool lock_spin::again() noexcept {
    if (pause_ == 0) return false;
    const std::uint64_t us = core::ticks_per_us(), until = now_ + pause_;
    do sys::cpu_relax();
    while ((now_ = sys::ticks()) < until);
    pause_ = std::min(2 * pause_, longest_pause_us * us);
    const around here = look_around();
    return here != around::crowd && now_ - from_ <= (here == around::others ? short_spin_us * us : core::spin_ticks());
}

} // namespace comity::sync
