// Ranks that stand by: who runs meanwhile, and when they go on. README.md, "Standing by".
#include "core/base.hpp"
#include "core/carrier.hpp"
#include "model/spmd/team_impl.hpp"

#include <algorithm>

namespace comity::spmd {

using core::base;

namespace {

constexpr auto anybody = [](const context *) noexcept { return true; };

} // namespace

// Also a rank that is elsewhere taken up first, and one that is ready.
standby_end team::stand_by(context *c, standby &s) noexcept {
    carrier *k = c->on;
    if (!children_.empty() || home_below(k)) return standby_end::in_vain;
    if (is_bound()) return standby_end::cannot;
    s.who = c;
    s.in_vain = false;
    s.at = &slots_[k->carried->id].standbys;
    constexpr auto stand = [](void *argument) {
        auto *own = static_cast<standby *>(argument);
        auto *of = static_cast<team *>(own->who->owner);
        if (own->at->push(*own)) of->call_hart(1); // its own hart may be about to be with another one for long
    };
    if (const int rank = claim(k, false); rank >= 0) {
        switch_to_member(c, static_cast<unsigned>(rank), stand, &s);
    } else if (!switch_to_ready(c, stand, &s)) {
        context *late = take_late_standby(k, s);
        if (!late) return standby_end::none;
        core::switch_to(c, late, stand, &s);
    }
    return s.in_vain ? standby_end::in_vain : standby_end::over;
}

// One of the hart's own that is to go on; one that can do so elsewhere only does it there.
context *team::pop_standby(carrier *k, standby_end how) noexcept {
    for (;;) {
        standby_list &own = slots_[k->carried->id].standbys;
        standby *s = how == standby_end::in_vain ? own.pop() : own.pop_over(anybody);
        if (!s) return nullptr;
        s->in_vain = how == standby_end::in_vain;
        context *c = s->who;
        if (!c->home || c->home == k) {
            go_to_place(k, rank_of(c));
            return c;
        }
        core::post_home(c);
    }
}

// May the hart go on with one who stands by on another? Not with the thread that opened the region.
bool team::may_take_standby(const carrier *k, const context *c) const noexcept {
    return !c->home && (!is_bound() || may_take(k, rank_of(c)));
}

bool team::has_own_standby(const carrier *k) noexcept {
    return crowded_.load(std::memory_order_relaxed) && slots_[k->carried->id].standbys.find_over(anybody) != 0;
}

// Is there one on another hart whose time has come? If so, a number that stays the same while nobody goes on there.
// Each look takes a line that the other hart writes.
std::uint64_t team::find_late_standby(const carrier *k) noexcept {
    if (!crowded_.load(std::memory_order_relaxed)) return 0;
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    for (unsigned i = 1; i < harts; ++i) {
        const unsigned at = (own + i) % harts;
        const auto wanted = [this, k](const context *c) { return may_take_standby(k, c); };
        if (const std::uint32_t number = slots_[at].standbys.find_over(wanted)) return std::uint64_t{at} << 32 | number;
    }
    return 0;
}

// Who takes one calls the next hart if there is another one.
context *team::take_late_standby(carrier *k) noexcept {
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    for (unsigned i = 1; i < harts && crowded_.load(std::memory_order_relaxed); ++i) {
        const auto wanted = [this, k](const context *c) { return may_take_standby(k, c); };
        const standby *s = slots_[(own + i) % harts].standbys.pop_over(wanted);
        if (!s) continue;
        context *c = s->who;
        if (find_late_standby(k) != 0) call_hart(1);
        go_to_place(k, rank_of(c));
        return c;
    }
    return nullptr;
}

// The same for one who waits: if the other hart is with something else, for two looks have found the same ones. Where
// so many waits in a row have found some at their first look, that hart has too many ranks, however short they are.
context *team::take_late_standby(carrier *k, standby &patience) noexcept {
    constexpr std::uint8_t many = 8;
    slot &own = slots_[k->carried->id];
    const std::uint64_t now = sys::ticks(), longest = std::uint64_t{4} * hand_over_ * base().hart_count();
    if (patience.look_pause == 0) {
        patience.look_pause = hand_over_;
        patience.looked = now;
    }
    if (now - patience.looked < patience.look_pause) return nullptr;
    const std::uint64_t late = find_late_standby(k);
    patience.looked = now;
    if (patience.is_new) own.late_waits = late ? own.late_waits + 1 : 0;
    if (late != 0 && (late == patience.seen || own.late_waits >= many)) {
        own.late_waits = 0;
        return take_late_standby(k);
    }
    patience.is_new = false;
    patience.seen = late;
    patience.look_pause = late ? hand_over_ : std::min(2 * patience.look_pause, longest);
    return nullptr;
}

// ---- For the watch

bool team::has_late_standbys() noexcept {
    for (unsigned i = 0; i < base().hart_count(); ++i)
        if (slots_[i].standbys.find_over(anybody) != 0) return true;
    return false;
}

member *team::take_late_standby() noexcept {
    member *m = nullptr;
    for (unsigned i = 0; i < base().hart_count() && !m; ++i)
        (void)slots_[i].standbys.pop_over(
            [this, &m](const context *c) { return (m = promotable_member(c)) != nullptr; });
    return m;
}

} // namespace comity::spmd
