// Gangs: ranks that wait for each other without telling Comity must all have a kernel thread that really runs. Those
// that no hart takes up at once are promoted: the operating system shares the cores between them, as it would have done
// without Comity.
#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/chaos.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "model/spmd/team_impl.hpp"
#include "sys/message.hpp"

namespace comity::spmd {

using core::base;

// Each rank gets a hart for itself, or a kernel thread.
void team::run_gang_members(carrier *k, unsigned ranks) noexcept {
    // A hart that spins in the team takes its ranks within a fraction of a microsecond; one that waits above has to
    // come first.
    const unsigned most_us = parent != &base() && base().has_searchers() ? 4 : 1;
    if (parent != &base()) ask_for_harts(ranks);
    const std::uint64_t from = sys::ticks(), most = most_us * core::ticks_per_us();
    while (sys::ticks() - from < most && has_ranks()) sys::cpu_relax();
    const std::uint64_t r =
        slots_[k->carried->id].range.load(std::memory_order_relaxed); // of a gang all ranks start in this slot
    unsigned left = slot::count(r);
    // A hart that is idle is woken, which costs no more than waking another kernel thread, and stays for the next
    // region.
    if (left != 0 && parent == &base()) left -= harts_that_come(left);
    for (int rank; left != 0 && (rank = claim(k, true)) >= 0; --left) {
        promote_member(members_[rank]);
    }
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

// The master of the region is promoted: it has no hart, and those that have one may be waiting for it. So all the ranks
// are on kernel threads, and the team is no scheduler in the tree.
void team::run_without_harts(body_fn body, void *arg, unsigned ranks) noexcept {
    set_body(body, arg);
    busy = true;
    note_home(master);
    unfinished_.store(ranks - 1, std::memory_order_relaxed);
    for (unsigned i = 1; i < ranks; ++i) promote_member(members_[i]);
    go_to_place(master->on, 0);
    body(arg, 0);
    join_without_hart();
    if (generation == core::generation()) await_promoted(ranks);
    busy = false;
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
    take_offer_back();
    if (generation != core::generation())
        magic = 0;
    else if (lingering)
        want_none();
    else
        core::unregister_without_hart(this);
    if (parent == &base()) core::unbind(master->on);
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
    for (unsigned i = 1; i < ranks; ++i) {
        member *m = members_[i];
        if (!m->promoted) continue;
        while (!core::promotion_over(m->c)) sys::yield_kernel_thread();
        m->promoted = false;
    }
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
