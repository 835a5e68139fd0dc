#include "sync/lock_spin.hpp"

#include "core/carrier.hpp"
#include "core/displacement.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "sys/clock.hpp"

#include "comity/core.h"

#include <algorithm>

namespace comity::sync {

namespace {

constexpr std::uint64_t longest_pause_us = 4;
constexpr std::uint64_t short_spin_us = 4; // while the hart could do something else

// Where holders are not running, since they wait for something else or for a hart themselves, to spin is in vain.
constexpr std::uint8_t enough_in_vain = 8, unspun_between = 15;

// It is a look at the scheduler, and more where somebody is ready.
constexpr std::uint8_t looks_between_turns = 32;

bool is_turn(core::carrier *k) noexcept {
    return k && k->carried && !k->settled && ++k->looks_at_locks % looks_between_turns == 0;
}

} // namespace

void give_turn() noexcept {
    if (is_turn(core::current_carrier())) (void)core::let_others_run();
}

void give_turn_after_look(bool (*may_switch)() noexcept) noexcept {
    if (!is_turn(core::current_carrier()) || (may_switch && !may_switch())) return;
    const core::carrier *k = core::current_carrier(); // the caller may have been moved in may_switch
    if (!k || !k->carried) return;
    const auto *hooks = k->current_sched->hooks;
    const bool serves_threads = hooks && hooks->units; // who is looked for stands there, too, if he has no hart
    if (!serves_threads) core::give_way_in_loop(core::is_wanted_beyond(k, UINT64_MAX));
    (void)core::let_others_run();
}

lock_spin::lock_spin(unsigned first_pause_ns) noexcept
    : from_(sys::ticks()),
      now_(from_),
      pause_(comity_hart_count() == 1 ? 0 : core::ticks_per_us() * first_pause_ns / 1000) {}

lock_spin::~lock_spin() {
    if (had_others_ && !gave_up_) core::current_carrier()->vain_spins = 0;
}

bool lock_spin::again() noexcept {
    if (pause_ == 0) return false;
    const std::uint64_t us = core::ticks_per_us(), until = now_ + pause_;
    do sys::cpu_relax();
    while ((now_ = sys::ticks()) < until);
    pause_ = std::min(2 * pause_, longest_pause_us * us);
    gave_up_ = is_enough(now_ - from_);
    return !gave_up_;
}

// Without a hart: may the kernel thread spin? With one: is there anything else for it?
bool lock_spin::is_enough(std::uint64_t spun) noexcept {
    core::carrier *k = core::current_carrier();
    if (!k) return spun > core::spin_ticks();
    if (!k->carried) return !core::may_spin() || spun > core::spin_ticks();
    core::sched *s = k->current_sched;
    if (!(s->hooks && s->hooks->other_work(s)) && !core::is_wanted_beyond(k, spun)) return spun > core::spin_ticks();
    if (!had_others_ && k->vain_spins == enough_in_vain && ++k->unspun <= unspun_between) return true;
    had_others_ = true;
    k->unspun = 0;
    if (spun <= short_spin_us * core::ticks_per_us()) return false;
    k->vain_spins = std::min<std::uint8_t>(k->vain_spins + 1, enough_in_vain);
    return true;
}

} // namespace comity::sync
