// Ranks that stand by: who runs meanwhile, and when they go on. README.md, "Standing by".
#include "core/base.hpp"
#include "core/carrier.hpp"
#include "model/spmd/team_impl.hpp"

#include <algorithm>

namespace comity::spmd {

using core::base;

// Also a rank that is elsewhere taken up first, and one that is ready.
standby_end team::stand_by(context *c, standby &s) noexcept {
    carrier *k = c->on;
    if (!children_.empty() || home_below(k)) return standby_end::in_vain;
    if (is_bound()) return standby_end::none;
    s.who = c;
    s.in_vain = false;
    s.at = &slots_[k->carried->id].standbys;
    constexpr auto stand = [](void *argument) {
        auto *own = static_cast<standby *>(argument);
        own->at->push(*own);
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
        standby *s = how == standby_end::in_vain ? own.pop() : own.pop_over([](const context *) { return true; });
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

// One of another hart's whose time has come. Each look takes a line that the other hart writes.
const standby *team::find_late_standby(const carrier *k) noexcept {
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    const standby *late = nullptr;
    if (last_size <= harts) return late; // ranks mostly have a hart each
    for (unsigned i = 1; i < harts && !late && !is_bound(); ++i) late = slots_[(own + i) % harts].standbys.find_over();
    return late;
}

context *team::take_late_standby(carrier *k) noexcept {
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    for (unsigned i = 1; i < harts && !is_bound(); ++i)
        if (const standby *s = slots_[(own + i) % harts].standbys.pop_over([](const context *c) { return !c->home; })) {
            go_to_place(k, rank_of(s->who));
            return s->who;
        }
    return nullptr;
}

// The same for one who waits: if its hart is with something else, for two looks have found the same one.
context *team::take_late_standby(carrier *k, standby &patience) noexcept {
    const std::uint64_t now = sys::ticks(), longest = std::uint64_t{4} * hand_over_ * base().hart_count();
    if (patience.look_pause == 0) {
        patience.look_pause = hand_over_;
        patience.looked = now;
    }
    if (now - patience.looked < patience.look_pause) return nullptr;
    const void *late = find_late_standby(k);
    patience.looked = now;
    if (late && late == patience.seen) return take_late_standby(k);
    patience.seen = late;
    patience.look_pause = late ? hand_over_ : std::min(2 * patience.look_pause, longest);
    return nullptr;
}

// ---- For the watch

bool team::has_late_standbys() const noexcept {
    for (unsigned i = 0; i < base().hart_count(); ++i)
        if (slots_[i].standbys.find_over()) return true;
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
