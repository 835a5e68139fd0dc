// Gangs: ranks that wait for each other without telling Comity must all have a kernel thread that really runs. Those
// that no hart takes up at once are promoted: the operating system shares the cores between them, as it would have done
// without Comity.
#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/chaos.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/tls/block.hpp"
#include "model/spmd/standstills.hpp"
#include "model/spmd/team_impl.hpp"
#include "model/spmd/watch.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

#include <algorithm>

namespace comity::spmd {

using core::base;

// Each rank gets a hart for itself, or a kernel thread.
void team::run_gang_members(carrier *k, unsigned ranks) noexcept {
    // A hart that spins in the team takes its rank within a fraction of a microsecond; those that wait above have to
    // come first, one after the other. They are waited for as long as one comes now and then: to wake a kernel thread
    // takes five microseconds here, and fifty until it runs.
    const unsigned most_us = parent != &base() && base().has_searchers() ? 4 : 1;
    if (parent != &base()) ask_for_harts(ranks, std::min(ranks, base().hart_count()));
    const std::uint64_t most = most_us * core::ticks_per_us();
    unsigned left = ranks_left();
    for (std::uint64_t from = sys::ticks(); left != 0 && sys::ticks() - from < most;) {
        for (int i = 0; i < 8; ++i) sys::cpu_relax(); // the look takes away lines that the others are about to write
        const unsigned before = left;
        left = ranks_left();
        if (left != before) from = sys::ticks();
    }
    // A hart that is idle is woken, which costs no more than waking another kernel thread, and stays for the next
    // region. Not for bound ranks, which those that come may have to leave to others.
    if (left != 0 && parent == &base() && !is_bound()) left -= harts_that_come(left);
    for (int rank; left != 0 && (rank = claim(k, true)) >= 0; --left) {
        promote_member(members_[rank]);
    }
}

unsigned team::ranks_left() const noexcept {
    unsigned left = 0;
    for (unsigned i = 0; i < base().hart_count(); ++i) left += ranks_in(slots_[i]);
    return left;
}

void team::note_promotion(member *m) noexcept {
    if (ranks_are_bound.load(std::memory_order_relaxed)) [[unlikely]]
        place_promoted(m);
    m->promoted = true;
    m->of->any_promoted_.store(true, std::memory_order_relaxed); // the master reads it after the rank has ended
}

void team::promote_member(member *m) noexcept {
    if (!core::promotable(m->c) || !core::prepare_promotion(m->c))
        sys::fatal("a parallel region", "rank %u has no kernel thread to run on", m->rank);
    note_promotion(m);
    core::promote(m->c, member_main, m);
}

// ---- Regions that would stand still

namespace {

standstills known_standstills;

} // namespace

// A rank with kernel state of its own keeps the kernel thread that has it: from then on no hart runs its region's
// ranks.
void team::note_state(const member *m) noexcept {
    if (m->c->tls->kernel_state != 0) has_states_ = true;
}

bool team::runs_on_threads(const void *code, unsigned ranks, region_kind kind) noexcept {
    const bool stands_still =
        kind == region_kind::cooperative && known_standstills.may_know() && known_standstills.expects(code, ranks);
    if (!stands_still && !has_states_) return false;
    for (unsigned i = 1; i < ranks; ++i) {
        if (core::promotable(members_[i]->c) && core::prepare_promotion(members_[i]->c)) continue;
        if (has_states_) // a hart would take a rank's filter of system calls, say, to others, and that rank out of it
            sys::fatal(
                "a parallel region",
                "a rank has kernel state of its own (a priority, CPUs, credentials or a filter), and for rank %u "
                "there is no kernel thread to run on",
                i);
        return false;
    }
    return true;
}

// All but the master's own, which keeps its hart: others may have use for that while it waits.
void team::promote_all(unsigned ranks) noexcept {
    is_brief_region = is_below_ = false;
    slot::set(is_gang_, false);
    slot::set(crowded_, false);
    for (unsigned i = 1; i < ranks; ++i) promote_member(members_[i]);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-present]
    keep_watch();                                        // the master may wait for a hart
}

// The region has ended, and ranks had to be promoted. Had it not stood still, ranks would have waited for their turn
// only, and would mostly have taken as long again as those before them, on as many cores. Where the others waited for
// them in loops, it may take a good part of that, too: the operating system lets who waits run as long as who is waited
// for. So in doubt it counts as such a region, which costs little (standstills::first).
void team::note_standstill(const void *code, unsigned ranks) noexcept {
    const std::uint64_t stood = stood_still_at_.exchange(0, std::memory_order_relaxed);
    const std::uint64_t lost = std::uint64_t{sys::get_options().stall_ms} * 1000 * core::ticks_per_us();
    const std::uint64_t turns = std::max(ranks / base().hart_count(), 2U);
    if (generation == core::generation() && stood != 0 && sys::ticks() - stood < turns * lost)
        known_standstills.note(code, ranks);
}

// ---- Without a hart

// The master of the region is promoted: it has no hart, and those that have one may be waiting for it. So all the ranks
// are on kernel threads, and the team is no scheduler in the tree.
void team::run_without_harts(body_fn body, void *arg, unsigned ranks) noexcept {
    set_body(body, arg);
    busy = true;
    const bool stayed = core::stay_promoted(master, true); // in a region around this one
    note_home(master);
    unfinished_.store(ranks - 1, std::memory_order_relaxed);
    for (unsigned i = 1; i < ranks; ++i) promote_member(members_[i]);
    go_to_place(master->on, 0);
    body(arg, 0);
    join_without_hart();
    await_promoted(ranks);
    busy = false;
    (void)core::stay_promoted(master, stayed);
    return_to_place(master);
}

// The master has no hart, or has none any more: it sleeps on its own kernel thread until all have ended.
void team::join_without_hart() noexcept {
    if (generation != core::generation()) // this process was forked in the region: the other ranks are the parent's
        return;
    if (unfinished_.fetch_or(master_waiting, std::memory_order_acq_rel) != 0) // acq_rel[team-join]
        core::sleep_without_hart(master->on);
    unfinished_.store(0, std::memory_order_relaxed);
}

// The region's master was displaced in its middle. The harts that are here find nothing more to do and leave, or
// linger.
void team::leave_without_hart() noexcept {
    if (generation != core::generation()) { // whoever looked at the offer is not there
        offered_at_ = nullptr;
        magic = 0;
    } else {
        take_offer_back();
        lingering ? want_none() : core::unregister_without_hart(this);
    }
    if (parent->hooks == &team_hooks) return;
    core::is_promoted(master) ? (void)core::stay_promoted(master, false) : core::unbind(master->on);
}

// Wakes at most `wanted` idle harts for this root team; returns how many surely come: whoever takes one of what it
// wants enters the team or stays in it. What cannot be had now is not wanted later.
unsigned team::harts_that_come(unsigned wanted) noexcept {
    base().withdraw(this);
    want_none();
    if (harts_of(account.load(std::memory_order_relaxed)) >= base().hart_count()) return 0;
    want(wanted);
    base().request(this);
    const unsigned still = wanted_of(account.load(std::memory_order_relaxed));
    base().withdraw(this);
    want_none();
    return still < wanted ? wanted - still : 0;
}

// After the region: its kernel thread may still be on the way to sleep, on the TLS of a context that the next region
// resumes.
void team::await_promoted(unsigned ranks) noexcept {
    any_promoted_.store(false, std::memory_order_relaxed);
    if (generation != core::generation()) return; // they are the parent's
    for (unsigned i = 1; i < ranks; ++i) {
        member *m = members_[i];
        if (!m->promoted) continue;
        while (!core::promotion_over(m->c)) sys::yield_kernel_thread();
        m->promoted = false;
    }
    has_states_ = false;
    for (unsigned i = 1; i < capacity; ++i) note_state(members_[i]);
}

// The end of a promoted rank, on the kernel thread's own stack.
void team::promoted_ends(void *argument) {
    auto *m = static_cast<member *>(argument);
    team *t = m->of;
    m->c->owner = t;
    context *master = t->master;
    if (t->unfinished_.fetch_sub(1, std::memory_order_acq_rel) == (master_waiting | 1)) // acq_rel[team-join]
        core::unblock(master);
}

} // namespace comity::spmd
