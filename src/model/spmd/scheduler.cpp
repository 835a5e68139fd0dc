// Teams as the harts in them see them: what to do next. Everything here but finish and *_to_other* runs on
// transition contexts.
#include "model/spmd/scheduler.hpp"

#include "core/base.hpp"
#include "core/chaos.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "model/spmd/team_impl.hpp"
#include "sys/cache.hpp"
#include "sys/core_demand.hpp"
#include "sys/futex.hpp"
#include "sys/message.hpp"

#include <algorithm>

namespace comity::spmd {

using core::base;

namespace {

team *as_team(comity_sched_t *s) noexcept { return static_cast<team *>(core::unwrap(s)); }

void on_request(comity_sched_t *self, comity_sched_t *child, int) { as_team(self)->child_wants(core::unwrap(child)); }
void on_unregister(comity_sched_t *self, comity_sched_t *child) { as_team(self)->child_ends(core::unwrap(child)); }
void on_hart(comity_sched_t *self) { as_team(self)->step(core::current_carrier()); }
void on_yield(comity_sched_t *self, comity_sched_t *) { on_hart(self); }
void on_block(comity_sched_t *self, comity_context_t *) { on_hart(self); }
void on_unblock(comity_sched_t *self, comity_context_t *c) { as_team(self)->push_ready(core::unwrap(c)); }

bool other_work(core::sched *self) noexcept { return static_cast<team *>(self)->has_work(core::current_carrier()); }

bool switch_to_other(core::sched *self, context *from, core::arch::after_fn after, void *arg) noexcept {
    return static_cast<team *>(self)->switch_to_other(from, after, arg);
}

void unblock_all(core::sched *self, context *first) noexcept {
    core::unblock_in_lists(
        first, [self](context_list list, unsigned n) noexcept { static_cast<team *>(self)->push_ready(list, n); });
}

} // namespace

constexpr comity_sched_callbacks_t team_callbacks{nullptr,  on_unregister, on_request, on_hart,
                                                  on_yield, on_block,      on_unblock};
constexpr core::sched_hooks team_hooks{
    .other_work = other_work,
    .switch_to_other = switch_to_other,
    .unblock_all = unblock_all,
    .yield = [](core::sched *s, context *c) noexcept { return static_cast<team *>(s)->yield_to_others(c); },
    .displaced =
        [](core::sched *s, context *c, const sys::interruption *slice) noexcept {
            return !slice && static_cast<team *>(s)->may_be_displaced(c);
        },
    .around_fork = [](core::sched *s, core::fork_stage stage,
                      const carrier *k) noexcept { static_cast<team *>(s)->around_fork(stage, k); },
    .hart_is_held = [](core::sched *s) noexcept { static_cast<team *>(s)->call_others(); }};

team *team::around() const noexcept { return parent->hooks == &team_hooks ? static_cast<team *>(parent) : nullptr; }

bool team::is_outermost() const noexcept {
    const core::sched *s = parent;
    while (s && s->hooks != &team_hooks) s = s->parent;
    return !s;
}

// ---- Ranks to take up

int team::claim(carrier *k, bool insists) noexcept {
    const int rank = claim_own(k);
    const bool leaves_others = !insists && slots_[k->carried->id].is_spread; // those have one each
    return rank >= 0 || leaves_others ? rank : steal(k, insists);
}

int team::claim_own(carrier *k) noexcept {
    core::chaos_point();
    slot &own = slots_[k->carried->id];
    std::uint64_t r = own.range.load(std::memory_order_relaxed);
    while (slot::begin(r) < slot::end(r)) {
        // What the rank needs first comes while the compare-exchange waits for the slot's line.
        sys::fetch_to_read(&body_);
        sys::fetch_to_read(own.last_arg);
        const std::uint32_t b = slot::begin(r);
        if (own.range.compare_exchange_weak(r, slot::part(r, b + 1, slot::end(r)),
                                            std::memory_order_acq_rel, // acq_rel[team-ranks]
                                            std::memory_order_relaxed)) {
            own.is_spread = r & slot::spread;
            own.code = slot::code_of(r);
            return static_cast<int>(b);
        }
    }
    if (!slot::is_spent(r)) return -1;
    const int rank = take_spread(own, r);
    if (rank < 0) return -1;
    own.is_spread = true;
    own.code = slot::code_of(r);
    return rank;
}

// How many ranks wait in a slot whose word is `r`?
std::uint32_t team::ranks_in(std::uint64_t r) const noexcept {
    const std::uint32_t n = slot::count(r);
    return n == 0 && slot::is_called(r, call_.load(std::memory_order_relaxed)) ? 1 : n;
}

// Takes a rank of a spread region out of a slot, the taker's or another one; -1: there is none. The region must be that
// of the slot's word, so it is looked at before and after; who has changed the word since has seen the later one.
int team::take_spread(slot &from, std::uint64_t &word) noexcept {
    for (;;) {
        const std::uint64_t call = call_.load(std::memory_order_acquire); // acquire[team-call]
        std::uint64_t r = from.range.load(std::memory_order_acquire);     // acquire[team-ranks]
        core::chaos_point();
        const bool is_left = slot::count(r) != 0; // as the deal put it there
        if (!is_left && call_.load(std::memory_order_relaxed) != call) continue;
        if (!(r & slot::spread) || !(is_left || slot::is_called(r, call))) return -1;
        const std::uint32_t e = slot::end(r);
        word = slot::part(is_left ? r : call, e, e);
        if (from.range.compare_exchange_weak(r, word, std::memory_order_acq_rel, // acq_rel[team-ranks]
                                             std::memory_order_relaxed))
            return static_cast<int>(e - 1);
    }
}

// Takes the back half of another hart's range, runs its first rank and keeps the others in the own slot, which is
// empty. Unless it insists it leaves to the other hart what that one will have done sooner than it could help.
int team::steal(carrier *k, bool insists) noexcept {
    // Alone in a team whose ranks all started in one slot: nobody left any behind, since harts leave with empty slots.
    if (!lingering && harts_of(account.load(std::memory_order_relaxed)) == 1) return -1;
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    const unsigned from = core::is_chaos() ? core::chaos_random() % harts : own + 1;
    for (unsigned i = 0; i < harts; ++i) {
        const unsigned victim = (from + i) % harts;
        if (victim == own) continue;
        std::uint64_t r = slots_[victim].range.load(std::memory_order_relaxed);
        if (ranks_in(r) == 0 || (!insists && (r & (slot::brief | slot::spread)))) continue;
        if (is_bound() && !may_take(k, slot::end(r) - 1)) continue;
        const int rank = r & slot::spread ? take_spread(slots_[victim], r) : steal_from(slots_[victim], slots_[own], r);
        if (rank >= 0) {
            slots_[own].is_spread = false; // it goes on to help
            slots_[own].code = slot::code_of(r);
            ++k->count.steals;
            // For a moment nobody could see the rest.
            if (is_guest && ranks_in(slots_[own]) != 0) call_hart(1);
            return rank;
        }
        if (ranks_in(slots_[own]) != 0) // the master has just filled it
            return claim(k, insists);
    }
    return -1;
}

// A slot that has been dealt the rank of a spread region meanwhile is left with one that may not be called again, like
// the own one: `mixed_` sees to it.
int team::steal_from(slot &victim, slot &own, std::uint64_t &word) noexcept {
    std::uint64_t mine = own.range.load(std::memory_order_relaxed);
    if (slot::begin(mine) < slot::end(mine) ||
        !own.range.compare_exchange_strong(mine, slot::stealing, std::memory_order_acq_rel)) // acq_rel[team-ranks]
        return -1;
    core::chaos_point();
    std::uint64_t rest = mine; // its rank may be called again
    int rank = -1;
    std::uint64_t r = victim.range.load(std::memory_order_acquire); // acquire[team-ranks]
    while (slot::begin(r) < slot::end(r)) {
        const std::uint32_t b = slot::begin(r), e = slot::end(r);
        // A gang's ranks may not wait behind one another in a hart's pocket, so of those only the last is taken.
        // Of those that are bound all that have the last one's place, or they would hide the ones before from others.
        const bool one = (r & slot::gang) || !is_tree;
        const std::uint32_t middle = one ? e - 1 : is_bound() ? first_at_place(b, e) : b + (e - b) / 2;
        if (victim.range.compare_exchange_weak(r, slot::part(r, b, middle), std::memory_order_acq_rel,
                                               std::memory_order_acquire)) { // acq_rel[team-ranks]
            rank = static_cast<int>(middle);
            word = r;
            rest = slot::part(r, middle + 1, e);
            mixed_.store(true, std::memory_order_relaxed); // the master reads it after the rank has ended
            break;
        }
    }
    own.range.store(rest, std::memory_order_release); // release[team-ranks]
    return rank;
}

void team::switch_to_member(context *from, unsigned rank, core::arch::after_fn after, void *arg) noexcept {
    member *m = members_[rank];
    if (m->c->state == core::context_state::fresh) {
        m->c->owner = this;
        core::switch_start(from, m->c, member_main, m, after, arg);
    } else {
        core::switch_to(from, m->c, after, arg);
    }
}

void team::resume_member(carrier *k, unsigned rank) noexcept {
    member *m = members_[rank];
    if (m->c->state == core::context_state::fresh) {
        m->c->owner = this;
        core::start(k, m->c, member_main, m);
    }
    core::resume(k, m->c);
}

// ---- The end of a rank

void team::finish(member *m) noexcept {
    context *c = m->c;
    carrier *k = c->on;
    if (generation != core::generation()) [[unlikely]]
        sys::fatal("a parallel region",
                   "this process was forked by one of its inner threads; such a child must exec or _exit");
    if (core::is_promoted(c)) [[unlikely]]
        return core::demote(c, promoted_ends, m);
    slot &s = slots_[k->carried->id];
    ++s.finished;
    s.last_arg = arg_;
    if (!is_tree) [[unlikely]] // is subtracted at once, but only when the context is saved
        return core::pause(c, member_parks, this);
    if (const int rank = claim(k, !lingering); rank >= 0)
        return switch_to_member(c, static_cast<unsigned>(rank), nullptr, nullptr);
    // All that is missing are the ranks that ended here, and the master waits: then nobody else can finish the region.
    // It may have been displaced since it was asked first, but not since it waits.
    if (may_resume_master(k) &&
        unfinished_.load(std::memory_order_acquire) == (master_waiting | s.finished) && // acquire[team-join]
        may_resume_master(k)) {
        s.finished = 0;
        go_to_place(k, 0);
        return core::switch_to(
            c, master, [](void *t) { static_cast<team *>(t)->unfinished_.store(0, std::memory_order_relaxed); }, this);
    }
    if (switch_to_ready(c, nullptr, nullptr)) return;
    core::pause(c, member_parks, this);
}

void team::member_parks(context *, void *argument) { static_cast<team *>(argument)->step(core::current_carrier()); }

// Subtracts what ended on this hart. True: that was the last, and the master waits.
bool team::flush(carrier *k) noexcept {
    slot &s = slots_[k->carried->id];
    const std::uint32_t n = s.finished;
    if (n == 0) return false;
    s.finished = 0;
    core::chaos_point();
    return unfinished_.fetch_sub(n, std::memory_order_acq_rel) == (master_waiting | n); // acq_rel[team-join]
}

// A root team's master goes on only on his own kernel thread. That is asked first: all harts change the word at which
// one looks else.
bool team::may_resume_master(const carrier *k) const noexcept {
    return lingering ? k->native == master : !master->home || master->home == k;
}

void team::resume_master(carrier *k) noexcept {
    if (!master->home || master->home == k) {
        unfinished_.store(0, std::memory_order_relaxed);
        go_to_place(k, 0);
        core::resume(k, master);
    }
    core::post_home(master); // from here on the region may end; the team waits for this hart
}

// ---- What next

bool team::has_work(carrier *k) noexcept {
    return ((has_calls(k) || (is_bound() ? has_ranks_for(k) : has_ranks())) && !each_has_a_hart(k)) ||
           has_own_standby(k);
}

// Are as many harts in the team as it has ranks? Then one of them is idle for each rank that waits for one, and who has
// one keeps it while he waits for the others. Otherwise each that stops leads to others that stop, since what it waits
// for makes it ready, and so on in every barrier.
bool team::each_has_a_hart(const carrier *k) const noexcept {
    const unsigned harts = base().hart_count();
    if (last_size > harts || !lingering || is_bound() || !children_.empty() || core::home_ready(k, this)) return false;
    unsigned here = 0;
    for (unsigned i = 0; i < harts && here < last_size; ++i)
        here += slots_[i].present.load(std::memory_order_relaxed) && !slots_[i].naps.load(std::memory_order_relaxed);
    return here >= last_size;
}

// Has somebody made something ready for the hart?
bool team::has_calls(carrier *k) noexcept {
    return (!ready_.empty() && (!is_bound() || has_ready_for(k))) || !children_.empty() || core::home_ready(k, this);
}

bool team::has_ranks() const noexcept {
    const unsigned harts = base().hart_count();
    for (unsigned i = 0; i < harts; ++i)
        if (ranks_in(slots_[i]) != 0) return true;
    return false;
}

// Does the thread's own computation wait to go on in a team below this one?
bool team::home_below(const carrier *k) const noexcept { return core::home_ready(k, this) && k->native->owner != this; }

// Ranks that yield for ever may wait for a region below one of them, which may have no hart: now and then children come
// first. Or its master is this very thread, which nobody else can carry on: it goes on at once.
bool team::yield_to_others(context *c) noexcept {
    constexpr std::uint8_t turns = 16;
    carrier *k = c->on;
    if (home_below(k) ||
        (++slots_[k->carried->id].yields % turns == 0 && (look_at_offers(k, true) || !children_.empty()))) {
        core::pause(
            c,
            [](context *self, void *t) {
                carrier *on = core::current_carrier();
                auto *of = static_cast<team *>(t);
                core::unblock(self);
                of->step(on, !of->home_below(on));
            },
            this);
        return true;
    }
    const auto again = [](void *argument) { core::unblock(static_cast<context *>(argument)); };
    return switch_to_other(c, again, c);
}

// In a topmost team always: a hart that has been called takes the rank as soon as it is here. Until then the rank may
// wait for the master in a loop of its own, which would have the only hart for ever.
void team::give_way_to_master(context *c) noexcept {
    constexpr std::uint8_t longest = 15;
    const carrier *k = c->on;
    if (c == k->native || k->native != master || !core::home_ready(k, this) || last_size > base().hart_count()) return;
    const std::uint8_t pauses = give_way_pauses_.load(std::memory_order_relaxed);
    if (pauses != 0) return give_way_pauses_.store(pauses - 1, std::memory_order_relaxed);
    core::pause(
        c,
        [](context *self, void *t) {
            auto *of = static_cast<team *>(t);
            carrier *on = core::current_carrier();
            of->send_home(on); // before: `self` is left to a hart that is at its place
            core::unblock(self);
            core::go_home(on, of);
        },
        this);
    if (!around()) return;
    // Nobody else came for it: it was a switch for nothing.
    const std::uint8_t before = give_way_pause_.load(std::memory_order_relaxed);
    const auto next = static_cast<std::uint8_t>(c->on != k ? 0 : std::min<unsigned>(2U * before + 1U, longest));
    give_way_pause_.store(next, std::memory_order_relaxed);
    give_way_pauses_.store(next, std::memory_order_relaxed);
}

// Returns when no child wants a hart.
void team::enter_child(carrier *k) noexcept {
    core::sched *child = children_.pick();
    if (!child) return;
    if (calls_for_children()) call_hart(1); // it wants more than this hart, or others do
    slots_[k->carried->id].set_present(false);
    slots_[k->carried->id].forget_lingering();
    if (child->hooks != &team_hooks) leave_places(k); // else the child knows where
    core::enter(k, child);
}

void team::step(carrier *k, bool child_first) noexcept {
    slot &own = slots_[k->carried->id];
    // A master that fills a slot looks who is here after that (ask_for_harts): it sees that we leave, or we the ranks,
    // in whichever slot: in its own if we were not here yet when it filled. What becomes ready from now on asks for
    // harts (push_ready, child_wants).
    const bool is_top = !around();
    bool insists = !lingering || is_bound();
    do {
        own.set_present(true);
        if (is_top) own.set_inside(true);
        for (;;) {
            const std::uint32_t ended = own.finished;
            if (flush(k)) resume_master(k); // returns when the master must go on elsewhere
            if (own.came_at != 0) note_pace(own, ended);
            if (child_first) enter_child(k);
            child_first = false;
            if (core::home_ready(k, this)) {
                call_next(own);
                send_home(k);
                core::go_home(k, this);
            }
            if (context *c = pop_ready(k)) {
                call_next(own);
                core::resume(k, c);
            }
            if (const int rank = claim(k, insists); rank >= 0) {
                call_next(own);
                own.came_at = sys::ticks();
                own.insisted = insists;
                resume_member(k, static_cast<unsigned>(rank));
            }
            if (is_top && insists) look_at_offers(k, true);
            if (context *c = insists ? take_late_standby(k) : nullptr) core::resume(k, c);
            if (context *c = pop_standby(k, standby_end::in_vain)) core::resume(k, c);
            enter_child(k);
            if (parent != &base()) break;
            if (is_bound() && take_place(k)) continue;
            const outcome o = linger(k);
            if (o == outcome::leave) break;
            insists = o == outcome::insist || is_bound();
        }
        own.set_present(false);
        own.set_inside(false);
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-present]
        insists = true;
    } while ((is_bound() ? has_ranks_for(k) || has_ready_for(k) : has_ranks()) || find_late_standby(k) != 0 ||
             (is_top && look_at_offers(k, false)));
    own.forget_lingering();
    leave_places(k);
    core::yield(k);
}

// The root's harts wait for new work for a while: the next region mostly follows soon. Brief ranks in others' slots are
// left there until two looks have found the same ones: then their hart is busy with another one. As long as they are
// gone by then looks become rare, for each takes away a line that the other hart is about to write.
team::outcome team::linger(carrier *k) noexcept {
    slot &own = slots_[k->carried->id];
    const std::uint64_t most = core::spin_ticks(), shortest = hand_over_ / 2,
                        longest = std::uint64_t{3} * hand_over_ * (base().hart_count() - 1),
                        capped = std::max(shortest, std::min(longest, most / 4)); // or it would leave before it looks
    constexpr std::uint64_t yield_us = 10;
    std::uint64_t from = sys::ticks(), looked = from, yielded = from, seen = 0, last = 0;
    for (unsigned i = 1;; ++i) {
        if (ranks_in(own) != 0 || has_calls(k)) return outcome::look;
        const std::uint64_t call = call_.load(std::memory_order_acquire); // acquire[team-call]
        if ((call & slot::gang) && call != own.last_gang) {
            own.last_gang = call;
            return outcome::insist;
        }
        if (draining_.load(std::memory_order_relaxed) || base().pressed() || base().has_outsider())
            return outcome::leave;
        sys::cpu_relax();
        if (i % 2 != 0) continue;
        const std::uint64_t now = sys::ticks();
        if (now - looked > (seen != 0 ? hand_over_ : std::max(own.look_pause, shortest))) {
            std::uint64_t sum = 0;
            const std::uint64_t left = left_by_others(k, sum);
            if (left != 0 && (left == seen || !(left & (slot::brief | slot::spread)))) {
                own.look_pause = shortest;
                own.is_spread = false;
                return outcome::insist;
            }
            if (sum != last) {
                own.look_pause = std::clamp(2 * own.look_pause, shortest, capped);
                from = now;
            }
            seen = left;
            last = sum;
            looked = now;
        }
        if (now - from > most) return outcome::leave;
        if (is_bound() && now - yielded > yield_us * core::ticks_per_us()) {
            sys::yield_kernel_thread(); // to a rank that was sent here
            yielded = now;
        }
        if (i % 32 == 0 && seen == 0 && nap_if_cores_are_short(k, now)) from = sys::ticks();
    }
}

// Where other processes want the cores, a hart that spins for the next region takes one from who would work, and one
// that has a rank of it may lose its core in the middle, for milliseconds. So some, never more than cores are missing,
// sleep a little instead, present as ever: the master takes the ranks back that he dealt to them. Ranks that wait for
// each other in their own way cannot be run by one hart: if a region has begun meanwhile and no other after it, and
// still has ranks here, it waited for this hart, which then does not sleep for a while. True: regions went on
// meanwhile.
bool team::nap_if_cores_are_short(carrier *k, std::uint64_t now) noexcept {
    constexpr std::uint64_t after_miss_us = 20'000;
    constexpr std::int64_t nap_ns = 400'000;
    if (k->adopted) return false; // in its own join: it sleeps at home, where who ends last wakes it
    slot &own = slots_[k->carried->id];
    if (own.missed_at != 0 && now - own.missed_at < after_miss_us * core::ticks_per_us()) return false;
    const unsigned missing = sys::cores_missing_lately();
    if (missing == 0 || is_gang_.load(std::memory_order_relaxed)) return false; // a gang would have its ranks promoted
    unsigned asleep = 0;
    for (unsigned i = 0; i < base().hart_count(); ++i) asleep += slots_[i].naps.load(std::memory_order_relaxed);
    if (asleep >= missing) return false;
    const std::uint64_t before = latest_region(own);
    own.naps.store(true, std::memory_order_relaxed);
    core::note_asleep();
    sys::nap(nap_ns);
    core::note_awake();
    own.naps.store(false, std::memory_order_relaxed);
    const std::uint32_t begun = slot::regions_between(before, latest_region(own));
    if ((ranks_in(own) != 0 && begun <= 1) || has_calls(k)) own.missed_at = sys::ticks();
    return begun != 0;
}

// The later one of those that filled the slot and those that were called, with its number.
std::uint64_t team::latest_region(const slot &s) const noexcept {
    const std::uint64_t dealt = s.range.load(std::memory_order_relaxed), called = call_.load(std::memory_order_relaxed);
    return slot::regions_between(dealt, called) <= slot::region_bits / 2 ? called : dealt;
}

// The ranks in some other slot, or in a team that is offered; 0: there are none. `sum` changes with every region.
std::uint64_t team::left_by_others(const carrier *k, std::uint64_t &sum) noexcept {
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    std::uint64_t left = is_bound() && has_ranks_for(k);
    for (unsigned i = 1; i < harts && !is_bound(); ++i) {
        const slot &other = slots_[(own + i) % harts];
        const std::uint64_t r = other.range.load(std::memory_order_relaxed);
        if (ranks_in(r) != 0) left = r;
        sum = sum * 31 + r;
    }
    if (left == 0 && look_at_offers(k, false, &left)) sum += left;
    if (left != 0) return left;
    const std::uint64_t late = find_late_standby(k);
    sum += late;
    return late ? late | slot::brief : 0; // is taken if it is the same at the next look
}

// Are there ranks in teams that others offer below this one? `calls`: then the calling hart finds them among the
// children. The one that is looked at cannot end meanwhile.
bool team::look_at_offers(const carrier *k, bool calls, std::uint64_t *what) noexcept {
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    for (unsigned n = 1; n <= harts; ++n) {
        auto &word = slots_[(own + n) % harts].offer;
        std::uintptr_t seen = word.load(std::memory_order_relaxed);
        for (unsigned i = 1; seen != 0; ++i) {
            if (!(seen & slot::looked_at) &&
                word.compare_exchange_weak(seen, seen | slot::looked_at,
                                           std::memory_order_acquire, // acquire[team-offer]
                                           std::memory_order_relaxed))
                break;
            i % 64 == 0 ? sys::yield_kernel_thread() : sys::cpu_relax();
            seen = word.load(std::memory_order_relaxed);
        }
        if (seen == 0) continue;
        auto *child = reinterpret_cast<team *>(seen);
        std::uint64_t ranks = 0;
        for (unsigned i = 0; i < harts && ranks == 0; ++i) {
            const std::uint64_t r = child->slots_[i].range.load(std::memory_order_relaxed);
            if (slot::count(r) != 0) ranks = r;
        }
        const bool found = ranks != 0 || child->look_at_offers(k, calls, what);
        if (ranks != 0 && what) *what = (ranks ^ seen << 8) | slot::brief;
        if (found && calls) {
            child->want(1);
            children_.add(child);
        }
        word.store(seen, std::memory_order_release); // release[team-offer]
        if (found) return true;
    }
    return false;
}

// The ranks that the hart came for have ended, or wait. The first of them found nothing in the hart's caches, which
// takes a part of what it takes to hand them over.
void team::note_pace(slot &own, std::uint32_t ended) noexcept {
    const std::uint64_t all = sys::ticks() - own.came_at, cold = hand_over_ / 4;
    const std::uint64_t each = (all > cold ? all - cold : 0) / std::max(ended, 1U);
    own.came_at = 0;
    // Every master reads this at each start: it is written when it has really changed.
    std::atomic<std::uint32_t> &pace = pace_[own.code];
    const std::uint64_t before = pace.load(std::memory_order_relaxed);
    if ((each > 2 * before && (own.insisted || before >= hand_over_)) || 2 * each < before)
        pace.store(static_cast<std::uint32_t>(std::min<std::uint64_t>(each, longest_pace * hand_over_)),
                   std::memory_order_relaxed);
}

// ---- Ready contexts

// Those who were woken and those who stand by, where their time has come, take turns: both could go on for ever.
context *team::pop_ready(carrier *k) noexcept {
    slot &own = slots_[k->carried->id];
    if (own.standbys.empty()) return pop_woken(k);
    context *c = own.standbys_first ? pop_standby(k, standby_end::over) : nullptr;
    own.standbys_first = !c;
    if (!c) c = pop_woken(k);
    return c ? c : pop_standby(k, standby_end::over);
}

// Sends the carrier to its place.
context *team::pop_woken(carrier *k) noexcept {
    if (ready_.empty()) return nullptr;
    ready_lock_.lock();
    context *c = is_bound() ? ready_.take_if([&](context *r) { return may_take(k, rank_of(r)); }) : ready_.pop_front();
    ready_lock_.unlock();
    if (c && ranks_are_bound.load(std::memory_order_relaxed)) [[unlikely]]
        send(k, rank_of(c));
    return c;
}

// Who goes on at home only is in a list of one.
void team::push_ready(context_list list, unsigned n) noexcept {
    if (survivor_) [[unlikely]] {
        context *only = list.find_if([this](const context *c) { return c == survivor_; });
        if (!only) return;
        list = context_list(only);
        n = 1;
    }
    // A context that is ready may run and end the team before we are done here, unless we are a rank of it ourselves.
    const context *waker = core::current_context();
    const bool inside = waker && waker->owner == this;
    if (!inside) pin();
    if (list.first()->home) {
        core::post_home(list.first());
    } else {
        ready_lock_.lock();
        ready_.append(list, n);
        ready_lock_.unlock();
        call_hart(n);
    }
    if (!inside) unpin();
}

// Ranks that were never started come first: those that yield to each other must not keep them out.
bool team::switch_to_other(context *from, core::arch::after_fn after, void *arg) noexcept {
    if (const int rank = claim(from->on, true); rank >= 0) {
        switch_to_member(from, static_cast<unsigned>(rank), after, arg);
        return true;
    }
    return switch_to_ready(from, after, arg);
}

// The ready list and the thread's own rank take turns, for the same reason.
bool team::switch_to_ready(context *from, core::arch::after_fn after, void *arg) noexcept {
    carrier *k = from->on;
    slot &s = slots_[k->carried->id];
    const bool home = from != k->native && core::home_ready(k, this) && k->native->owner == this;
    context *to = home && !s.went_home ? nullptr : pop_ready(k);
    if (to) {
        s.went_home = false;
    } else if (home) {
        s.went_home = true;
        core::take_home(k);
        go_to_place(k, 0);
        to = k->native;
    } else {
        return false;
    }
    core::switch_to(from, to, after, arg);
    return true;
}

// ---- Children that want harts

void team::child_wants(core::sched *child) noexcept {
    children_.add(child);
    call_hart(1);
}

// Something was made ready: a hart that is about to leave finds it wanted and stays (core::yield); if there are too few
// harts, the parent hears of it. Mostly it is wanted already.
void team::call_hart(unsigned n) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-leave]
    core::chaos_point();
    std::uint64_t a = account.load(std::memory_order_relaxed);
    if (wanted_of(a) != 0) return;
    const std::uint32_t harts = base().hart_count(), missing = harts - (harts_of(a) < harts ? harts_of(a) : harts);
    if (is_guest) n = 1;
    want(n < missing ? n : missing ? missing : 1);
    a = account.load(std::memory_order_relaxed);
    if (harts_of(a) < harts)
        parent->callbacks->request(handle(parent), handle(this), static_cast<int>(n < missing ? n : 1));
}

// The hart has found something to do, and calls another one if there is more for which nobody may have been called.
void team::call_next(const slot &own) noexcept {
    const bool is_more = is_guest && (ranks_in(own) != 0 || !ready_.empty() || !children_.empty() || has_ranks());
    if (is_more || calls_for_children()) call_hart(1);
}

// Does a child want harts, and are some elsewhere? While one hart is wanted nobody calls another one.
bool team::calls_for_children() const noexcept {
    return !children_.empty() && harts_of(account.load(std::memory_order_relaxed)) < base().hart_count();
}

} // namespace comity::spmd
