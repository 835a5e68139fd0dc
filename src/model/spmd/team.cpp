// Teams as their masters see them: making, running a region, joining.
#include "model/spmd/team_impl.hpp"

#include "core/base.hpp"
#include "core/callbacks.hpp"
#include "core/chaos.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/tls/block.hpp"
#include "model/spmd/scheduler.hpp"
#include "model/spmd/standstills.hpp"
#include "model/spmd/watch.hpp"
#include "sys/cache.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/thread_maker.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace comity::spmd {

using core::base;

namespace {

// Some ten cache lines that go from hart to hart.
constexpr unsigned hand_over_ns = 450;

std::size_t stack_size = 0;                               // set_stack_size
std::atomic<void (*)(int harts)> region_watcher{nullptr}; // by watch_regions

// Another number: another thread of the program's has been the context since.
unsigned renewals_of(const context *c) noexcept { return c->tls ? c->tls->renewals : 0; }

void report(int harts) noexcept {
    if (auto *watcher = region_watcher.load(std::memory_order_relaxed)) watcher(harts);
}

} // namespace

void member_main(void *argument) {
    auto *m = static_cast<member *>(argument);
    for (;;) {
        m->of->go_to_place(core::current_carrier(), m->rank);
        m->of->body_(m->of->arg_, m->rank);
        m->of->finish(m);
    }
}

// ---- Making

team *team::create(context *master) noexcept {
    auto *t = new (std::nothrow) team();
    const unsigned harts = base().hart_count();
    auto *slots = new (std::nothrow) slot[harts];
    if (!t || !slots) sys::fatal("making a team", "no memory");
    t->master = master;
    t->slots_ = slots;
    t->generation = core::generation();
    t->renewals = renewals_of(master);
    t->is_hot = sys::get_options().hot_teams;
    t->is_tree = sys::get_options().team_tree;
    t->hand_over_ = static_cast<std::uint32_t>(core::ticks_per_us() * hand_over_ns / 1000);
    for (auto &p : t->pace_) p.store(longest_pace * t->hand_over_, std::memory_order_relaxed);
    enlist(t);
    return t;
}

void team::destroy() noexcept {
    delist(this);
    if (generation == core::generation()) { // else the members' kernel threads are those of another process
        for (unsigned i = 1; i < capacity; ++i) {
            core::destroy_context(members_[i]->c);
            delete members_[i];
        }
    }
    std::free(members_);
    free_tables();
    delete[] slots_;
    if (deeper) deeper->destroy();
    delete this;
}

unsigned team::grow(unsigned ranks) noexcept {
    if (ranks <= capacity) return ranks;
    ranks = std::min(ranks, most_ranks);
    if (ranks > room_) {
        auto **more = static_cast<member **>(std::realloc(members_, ranks * sizeof(member *)));
        if (!more) return capacity;
        members_ = more;
        room_ = ranks;
    }
    while (capacity < ranks) {
        int error = 0;
        auto *m = new (std::nothrow) member{this, capacity, nullptr};
        if (m) m->c = core::create_context(stack_size, true, error);
        if (!m || !m->c) {
            delete m;
            static std::atomic<bool> warned{false};
            if (!warned.exchange(true, std::memory_order_relaxed))
                sys::warn("a parallel region gets %u ranks instead of %u: %s; see ulimit -u and COMITY_STACK_SIZE",
                          capacity, ranks, error == EAGAIN ? "no more threads to be had" : "no memory for stacks");
            break;
        }
        m->c->local = m;
        note_state(m);
        members_[capacity++] = m;
    }
    return capacity;
}

// ---- A region

void team::run(body_fn body, void *arg, unsigned ranks, region_kind kind, const void *known_as) noexcept {
    context *c = master;
    code_ = static_cast<std::uint8_t>(hash_of_code(known_as) % slot::codes);
    set_body(body, arg);
    busy = true;
    note_home(c);
    enter_region(c->on);
    go_to_place(c->on, 0);
    const unsigned most = ranks < base().hart_count() ? ranks : base().hart_count();
    const int reported = most > 1 && is_outermost() ? static_cast<int>(most) : 0;
    if (reported) report(reported);
    unfinished_.store(ranks - 1, std::memory_order_relaxed);
    const bool on_threads = runs_on_threads(known_as, ranks, kind);
    if (on_threads) {
        promote_all(ranks);
    } else {
        distribute(c->on, ranks, kind);
        if (kind == region_kind::gang)
            run_gang_members(c->on, ranks);
        else
            ask_for_harts(ranks, is_guest ? std::min(most, 2U) : most);
    }
    run_own_rank(ranks);
    c->on->carried ? join(c) : join_without_hart(); // without a hart it was displaced
    // The mark that the master waits, where who ended last could not take it away: he posted the master, or was
    // promoted.
    if (unfinished_.load(std::memory_order_relaxed) != 0) unfinished_.store(0, std::memory_order_relaxed);
    if (any_promoted_.load(std::memory_order_relaxed)) [[unlikely]] {
        if (kind == region_kind::cooperative && !on_threads) note_standstill(known_as, ranks);
        await_promoted(ranks);
    }
    c->on->carried ? leave_region(c->on) : leave_without_hart(); // also in the join: a promoted rank made it ready
    busy = false;
    return_to_place(c);
    if (reported) report(-reported);
}

void team::set_body(body_fn body, void *arg) noexcept {
    if (body_ != body) body_ = body;
    if (arg_ != arg) arg_ = arg;
}

// It may have been made just now, and the watch looks at it.
void team::note_home(const context *c) noexcept {
    if (master_home_.load(std::memory_order_relaxed) != c->home)
        master_home_.store(c->home, std::memory_order_release); // release[team-home]
}

// Rank 0. Who came for others says how long those took, but found nothing of theirs in his caches; where that is why
// they seem to be worth handing over, this one says better how long the others would have taken here.
void team::run_own_rank(unsigned ranks) noexcept {
    const bool is_doubtful = !is_brief_region && !is_bound() && !is_gang_.load(std::memory_order_relaxed) &&
                             is_brief(pace().load(std::memory_order_relaxed) / 8, ranks - 1);
    const std::uint64_t from = is_doubtful ? sys::ticks() : 0;
    body_(arg_, 0);
    if (!is_doubtful) return;
    const std::uint64_t taken = sys::ticks() - from + hand_over_ / 8; // with a switch
    if (is_brief(taken, ranks - 1)) pace().store(static_cast<std::uint32_t>(taken), std::memory_order_relaxed);
}

// The hart comes under this team: a lingering one stays registered between its regions.
void team::enter_region(carrier *k) noexcept {
    if (lingering && registered()) {
        account.fetch_add(one_hart, std::memory_order_acq_rel); // acq_rel[account]
        master->owner = this;
        core::become(k, this);
    } else {
        core::register_sched(this, &team_callbacks);
        hooks = &team_hooks;
    }
    const auto own = static_cast<unsigned>(k->carried->id);
    slot::set(entered_at_, own);
    slots_[own].set_present(true);
    const team *up = around();
    if (const bool is = !lingering && !up && parent != &base(); is_guest != is) is_guest = is; // harts read it
    below_ = up ? up->below_ + 1 : 0;
    top_ = up ? up->top_ : this;
    if (!up) slots_[own].set_inside(true);
}

void team::leave_region(carrier *k) noexcept {
    take_offer_back();
    if (generation != core::generation()) { // nobody else is in this team; nor will it be used again
        magic = 0;
        master->owner = parent;
        core::become(k, parent);
        core::leave_comity(k);
        return;
    }
    slots_[k->carried->id].set_present(false);
    slots_[k->carried->id].set_inside(false);
    if (lingering) {
        want_none();                                            // or harts would be woken for nothing
        account.fetch_sub(one_hart, std::memory_order_acq_rel); // acq_rel[account]
        master->owner = &base();
        core::become(k, &base());
        core::leave_comity(k);
    } else {
        // Nobody came, so nobody has learnt how long ranks take: it is forgotten little by little.
        if (!is_brief_region && wanted_of(account.load(std::memory_order_relaxed)) != 0) {
            const std::uint32_t now = pace().load(std::memory_order_relaxed);
            pace().store(now - now / 8, std::memory_order_relaxed);
        }
        core::unregister_sched("a team's end");
    }
}

void team::close() noexcept {
    if (!registered()) return;
    draining_.store(true, std::memory_order_relaxed);
    core::end_sched(this, 0); // idle harts look at draining_ all the time
    base().withdraw(this);
    draining_.store(false, std::memory_order_relaxed);
    magic = 0;
}

// Ranks 1.. go to the slots of the harts that are here, in runs, so that a rank tends to meet the same hart again.
// Mostly each has one rank and had the same in the region before: then it is enough to call them all.
void team::distribute(carrier *k, unsigned ranks, region_kind kind) noexcept {
    const unsigned own = static_cast<unsigned>(k->carried->id);
    const bool is_gang = kind == region_kind::gang;
    const std::uint32_t here = lingering ? sched::harts_of(account.load(std::memory_order_relaxed)) : 0;
    sharers_ = std::max(here, 2U);
    slot::set(is_gang_, is_gang);
    slot::set(crowded_, ranks > base().hart_count());
    is_brief_region = !is_gang && !is_bound() && is_brief(ranks - 1); // to go to another place takes longer
    const std::uint64_t none = slot::no_ranks_of(++regions_, code_) | (is_brief_region ? slot::brief : 0);
    unsigned end = ranks;
    if (is_tree && !is_brief_region && here > 1 && !(is_gang && is_bound())) { // not all harts may take bound ranks
        if (deals_as_before(own, ranks)) {
            dealt_region_ = regions_;
            return call_.store(none | slot::spread, std::memory_order_release); // release[team-call]
        }
        end = is_bound() ? deal_by_place(own, ranks, none) : deal(own, ranks, none, is_gang);
    } else {
        call_nobody();
    }
    if (end == 1) return;
    if (slots_[own].is_dealt) dealt_ranks_ = 0; // his last deal was on another hart, and he writes over its rank
    const std::uint64_t left = none | (is_gang ? slot::gang : 0);
    slots_[own].range.store(slot::part(left, 1, end), std::memory_order_release); // release[team-ranks]
    if (is_gang && lingering) call_.store(left, std::memory_order_release);       // idle harts come: release[team-call]
}

// The line is left alone where that is so already: all idle harts look at it.
void team::call_nobody() noexcept {
    const std::uint64_t call = call_.load(std::memory_order_relaxed);
    if (call & (slot::spread | slot::gang)) call_.store(call & ~(slot::spread | slot::gang), std::memory_order_relaxed);
}

// Are the harts that were dealt a rank each still here, and their slots as they were left? A few slots are filled as
// fast as all harts see a call.
bool team::deals_as_before(unsigned by, unsigned ranks) const noexcept {
    const unsigned few = core::is_chaos() ? 1 : 4;
    const std::uint32_t since = regions_ - dealt_region_; // else a slot's region could be mistaken for this one
    if (since == 0 || since > slot::region_bits / 2) return false;
    if (ranks <= few || dealt_ranks_ != ranks || dealt_by_ != by || is_bound() ||
        mixed_.load(std::memory_order_relaxed))
        return false;
    for (unsigned i = 0; i < base().hart_count(); ++i)
        if (slots_[i].is_dealt && !slots_[i].present.load(std::memory_order_relaxed)) return false;
    return true;
}

// Returns one more than the last rank that is left for the own slot. No rank of a gang may wait behind another one.
unsigned team::deal(unsigned by, unsigned ranks, std::uint64_t none, bool is_gang) noexcept {
    const unsigned harts = base().hart_count();
    unsigned others = 0, end = ranks;
    for (unsigned i = 0; i < harts; ++i) others += i != by && slots_[i].present.load(std::memory_order_relaxed);
    const bool is_spread = ranks <= others + 1;
    if (is_spread) none |= slot::spread;
    call_nobody(); // before any slot changes
    mixed_.store(false, std::memory_order_relaxed);
    dealt_ranks_ = 0;
    dealt_region_ = regions_;
    bool is_clean = is_spread; // no rank will be called but those that are dealt now
    for (unsigned i = harts; i-- > 0;) {
        slot &s = slots_[i];
        unsigned share = 0;
        if (i != by && s.present.load(std::memory_order_relaxed) && others != 0) share = end / (others-- + 1);
        if ((is_spread || is_gang) && share > 1) share = 1; // the own slot has what is over
        std::uint64_t r = s.range.load(std::memory_order_relaxed);
        const bool may_be_old = slot::is_spent(r) || r == slot::stealing; // a thief puts back what was there
        bool is_dealt = false;
        if (share != 0 || (is_spread && may_be_old)) {
            // Not empty: its hart has already stolen from a slot that was filled before.
            const bool is_done = slot::is_empty(r) &&
                                 s.range.compare_exchange_strong(r, share ? slot::part(none, end - share, end) : none,
                                                                 std::memory_order_acq_rel); // acq_rel[team-ranks]
            is_clean = is_clean && is_done;
            is_dealt = is_done && share != 0;
            if (is_dealt) end -= share;
        }
        if (s.is_dealt != is_dealt) s.is_dealt = is_dealt;
    }
    if (is_clean && end == 1) {
        dealt_ranks_ = ranks;
        dealt_by_ = by;
    }
    return end;
}

// The same for bound ranks: those of one place go to the harts that are there, or else to some that are not needed
// where they are. No hart gets more than its share, though others would have to come.
unsigned team::deal_by_place(unsigned by, unsigned ranks, std::uint64_t none) noexcept {
    call_nobody();
    dealt_ranks_ = 0;
    unsigned free = 0;
    for (unsigned i = 0; i < base().hart_count(); ++i) free += i != by && takes_a_deal(slots_[i], none);
    unsigned end = ranks;
    for (; end > 1 && free != 0; --free) {
        const unsigned most = (end + free) / (free + 1); // its share
        const unsigned begin = std::max(first_at_place(1, end), end - std::min(most, end - 1));
        slot *to = hart_for(by, begin, none);
        if (!to) break;
        std::uint64_t r = to->range.load(std::memory_order_relaxed);
        if (!slot::is_empty(r) || !to->range.compare_exchange_strong(r, slot::part(none, begin, end),
                                                                     std::memory_order_acq_rel)) // acq_rel[team-ranks]
            break; // its hart has stolen from the slot that was filled before
        end = begin;
    }
    return end;
}

// It is here, and has not been dealt to in this region.
bool team::takes_a_deal(const slot &s, std::uint64_t none) noexcept {
    const std::uint64_t r = s.range.load(std::memory_order_relaxed);
    return s.present.load(std::memory_order_relaxed) && slot::is_empty(r) && slot::regions_between(r, none) != 0;
}

// The one that had these ranks the last time if it is still at their place; another one there; one at a place where
// nothing is left to be dealt; any.
slot *team::hart_for(unsigned by, unsigned begin, std::uint64_t none) noexcept {
    const unsigned place = place_of(begin), harts = base().hart_count();
    place_table *table = places_.load(std::memory_order_acquire);                        // acquire[team-places]
    unsigned *last = table && begin < table->room ? &table->dealt_to()[begin] : nullptr; // a rank may have bound itself
    const auto is_there = [&](unsigned i) {
        return i != by && slots_[i].place.load(std::memory_order_relaxed) == place && takes_a_deal(slots_[i], none);
    };
    const auto is_needed_there = [&](unsigned i) {
        unsigned rank = 0;
        while (rank < begin && place_of(rank) != slots_[i].place.load(std::memory_order_relaxed)) ++rank;
        return rank < begin;
    };
    if (last && *last < harts && is_there(*last)) return &slots_[*last];
    unsigned found = harts, needed = harts;
    for (unsigned i = 0; i < harts; ++i) {
        if (is_there(i)) {
            if (last) *last = i;
            return &slots_[i];
        }
        if (i != by && takes_a_deal(slots_[i], none)) (is_needed_there(i) ? needed : found) = i;
    }
    if (found == harts) found = needed;
    return found < harts ? &slots_[found] : nullptr;
}

// A region that could use more harts than are here asks for them at its start: nobody knows how long it will be, nobody
// asks later (but in a guest, where each that comes does), and its ranks may wait for each other without telling
// Comity.
void team::ask_for_harts(unsigned ranks, std::uint32_t most) noexcept {
    const unsigned harts = base().hart_count();
    is_below_ = harts > 1 && offer(master->on);
    // A hart that leaves says so, then looks at its slot; we have filled the slots, and look who is here. One sees the
    // other.
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-present]
    std::uint32_t here = 0;
    for (unsigned i = 0; i < harts && here < most; ++i) here += slots_[i].present.load(std::memory_order_relaxed);
    if (here < ranks) keep_watch();
    if (here >= most) return;
    if (is_brief_region && is_below_ && all_inside()) return; // else they find it, if need be
    const std::uint64_t a = account.load(std::memory_order_relaxed);
    if (parent == &base() && wanted_of(a) != 0) return;
    want(most - here);
    parent->callbacks->request(handle(parent), handle(this), static_cast<int>(most - here));
}

// ---- Offers

// Where harts with nothing else to do find the region from above. False: they do not.
bool team::offer(const carrier *k) noexcept {
    constexpr unsigned deepest = 16; // they would look for too long further down
    if (below_ == 0 || below_ > deepest || is_bound()) return false;
    team *up = around();
    auto &word = up->slots_[k->carried->id].offer;
    if (word.load(std::memory_order_relaxed) != 0) return false;
    word.store(reinterpret_cast<std::uintptr_t>(this), std::memory_order_release); // release[team-offer]
    offered_at_ = &word;
    return up == top_ || up->is_below_;
}

// All harts are in the topmost team or below it.
bool team::all_inside() const noexcept {
    const unsigned harts = base().hart_count();
    unsigned inside = 0;
    while (inside < harts && top_->slots_[inside].inside.load(std::memory_order_relaxed)) ++inside;
    return inside == harts;
}

// Before the team ends. Who looks at it has done with it then.
void team::take_offer_back() noexcept {
    if (!offered_at_) return;
    auto me = reinterpret_cast<std::uintptr_t>(this);
    for (unsigned i = 1; !offered_at_->compare_exchange_weak(me, 0, std::memory_order_acq_rel); // acq_rel[team-offer]
         me = reinterpret_cast<std::uintptr_t>(this), ++i)
        i % 64 == 0 ? sys::yield_kernel_thread() : sys::cpu_relax();
    offered_at_ = nullptr;
}

// ---- Join

void team::join(context *c) noexcept {
    if (generation != core::generation()) // this process was forked in the region: the other ranks are the parent's
        return;
    carrier *k = c->on;
    flush(k); // what ended here while the master let others run
    const bool alone = harts_of(account.load(std::memory_order_relaxed)) == 1; // then nobody else ends a rank now
    if (alone) {
        if (switch_to_other(c, master_waits, this)) return;
    } else if (const int rank = claim_own(k); rank >= 0) {
        return switch_to_member(c, static_cast<unsigned>(rank), master_waits, this);
    } else if (!slots_[k->carried->id].standbys.empty() && switch_to_ready(c, master_waits, this)) {
        return;
    }
    // The first looks are at the one word alone: others' slots are lines that the other harts write now, and who spins
    // takes up a short region's rank sooner than we can take it away.
    const std::uint64_t most = core::spin_ticks();
    const std::uint64_t patience = lingering ? hand_over_ * (1 + base().hart_count() / 2) : 0;
    std::uint64_t from = 0, looked = 0, seen = 0;
    for (unsigned i = 1; unfinished_.load(std::memory_order_acquire) != 0; ++i) { // acquire[team-join]
        if (alone || i % 16 == 0) {
            const std::uint64_t now = sys::ticks();
            if (from == 0) from = looked = now;
            const bool helps = !alone && now - from >= patience;
            if (helps && switch_to_other(c, master_waits, this)) return;
            bool stalls = false; // somebody else's ranks, as in linger
            if (!alone && now - looked > 2 * hand_over_) {
                std::uint64_t found = 0;
                look_at_offers(k, false, &found);
                stalls = found != 0 && found == seen && look_at_offers(k, true);
                seen = found;
                looked = now;
            }
            if (alone || (helps && has_work(k)) || stalls || now - from > most ||
                core::is_wanted_beyond(k, now - from)) {
                core::pause(c, master_parks, this);
                return;
            }
        }
        sys::cpu_relax();
    }
}

// Runs when the master's context is saved: from now on the last rank to finish resumes it.
void team::master_waits(void *argument) noexcept {
    auto *t = static_cast<team *>(argument);
    t->unfinished_.fetch_or(master_waiting, std::memory_order_acq_rel); // acq_rel[team-join]
}

void team::master_parks(context *c, void *argument) {
    auto *t = static_cast<team *>(argument);
    carrier *k = core::current_carrier();
    if (t->unfinished_.fetch_or(master_waiting, std::memory_order_acq_rel) == 0) { // acq_rel[team-join]
        t->unfinished_.store(0, std::memory_order_relaxed);
        core::resume(k, c);
    }
    ++k->count.blocks;
    t->step(k);
}

// ---- Fork

void team::around_fork(core::fork_stage stage, const carrier *k) noexcept {
    if (stage == core::fork_stage::before) {
        ready_lock_.lock();
        for (unsigned i = 0; i < base().hart_count(); ++i) slots_[i].standbys.before_fork();
        return children_.before_fork();
    }
    const bool in_parent = stage == core::fork_stage::parent;
    in_parent ? children_.after_fork() : children_.drop_after_fork();
    for (unsigned i = 0; i < base().hart_count(); ++i)
        in_parent ? slots_[i].standbys.after_fork() : slots_[i].standbys.drop_after_fork();
    ready_lock_.unlock();
    if (stage == core::fork_stage::child) forget_others(k);
}

// In the child: the other ranks are the parent's, whether they run, wait, are ready or were not taken up. The region
// that the survivor has opened may want harts.
void team::forget_others(const carrier *k) noexcept {
    survivor_ = k->current;
    ready_.clear();
    dealt_ranks_ = 0;
    core::sched *below = k->current_sched;
    while (below != this && below->parent != this) below = below->parent;
    for (unsigned i = 0; i < base().hart_count(); ++i) {
        slot &s = slots_[i];
        s.range.store(0, std::memory_order_relaxed);
        s.finished = 0;
        s.came_at = 0;
        const std::uintptr_t offered = s.offer.load(std::memory_order_relaxed) & ~slot::looked_at;
        const bool is_below = below != this && below->hooks == &team_hooks &&
                              offered == reinterpret_cast<std::uintptr_t>(static_cast<team *>(below));
        s.offer.store(is_below ? offered : 0, std::memory_order_relaxed);
        if (i == static_cast<unsigned>(k->carried->id)) continue;
        s.set_present(false);
        s.set_inside(false);
    }
    if (below != this && wanted_of(below->account.load(std::memory_order_relaxed)) != 0) children_.add(below);
}

} // namespace comity::spmd

// ---- The interface

namespace comity::spmd {
namespace {

// Ends the hot teams of a context that goes.
void end_teams(context *c) {
    auto *t = static_cast<team *>(c->hot);
    c->hot = nullptr;
    if (!t) return;
    if (t->lingering && t->generation == core::generation()) t->close();
    t->destroy();
}

// The team whose rank the caller, `c` or null, is on a hart; null: it is none.
team *owner_on_hart(const context *c) noexcept {
    return c && c->on->carried && c->owner->hooks == &team_hooks ? static_cast<team *>(c->owner) : nullptr;
}

// Its region has ended.
void drop(team *t) noexcept {
    auto **at = reinterpret_cast<team **>(&t->master->hot);
    while (*at != t) at = &(*at)->deeper;
    *at = nullptr;
    if (t->lingering && t->generation == core::generation()) t->close();
    t->destroy();
}

} // namespace

team *innermost_running(const context *c) noexcept {
    team *t = static_cast<team *>(c->hot);
    if (!t || !t->busy) return nullptr;
    while (t->deeper && t->deeper->busy) t = t->deeper;
    return t;
}

namespace {

// A user-level thread of another scheduler's comes back to a hart before its outermost region, if it has lost it; else
// it gives way to the computation of the kernel thread on which it is, and its scheduler, every few regions, to threads
// that wait for a hart: between regions no scheduler chooses what to run.
void come_to_outermost(context *c) noexcept {
    const carrier *k = c->on;
    if (!k->carried) return core::go_back_home(c);
    core::sched *s = k->current_sched;
    if (s->hooks == &team_hooks || !s->hooks) return;
    if (c != k->native && core::home_ready(k, s))
        (void)core::let_others_run();
    else if (base().waited_for() && s->hooks->yield)
        (void)s->hooks->yield(s, c);
}

} // namespace

team *prepare(unsigned ranks) noexcept {
    if (core::waits_in_place()) [[unlikely]]
        return nullptr;
    context *c = core::current_context();
    team *around = c ? innermost_running(c) : nullptr;
    if (c && !around) come_to_outermost(c);
    const bool is_apart = sys::kernel_state_here != 0; // its ranks are kernel threads that inherit
    if (is_apart && !c) c = core::adopt()->current;
    // In the middle of a region without a hart: promoted or displaced.
    const bool without = c && !c->on->carried && (around || is_apart || core::is_promoted(c));
    if (!without) c = core::enter_comity(core::patience::ends)->current; // it may have got none
    const carrier *k = c->on;
    team **at = around ? &around->deeper : reinterpret_cast<team **>(&c->hot);
    team *t = *at;
    if (t && t->generation != core::generation()) { // made before a fork: its members' threads are not in this process
        *at = t = nullptr;
    }
    if (t && is_apart &&
        t->renewals != renewals_of(c)) { // made for another thread: its ranks do not have this one's state
        drop(t);
        t = nullptr;
    }
    if (!t) {
        t = team::create(c);
        *at = t;
        c->at_end = end_teams;
    }
    const bool root = !without && !around && k->adopted && c == k->native && c->owner == &base();
    if (t->lingering && !root) t->close(); // this time the caller is below another scheduler
    if (t->lingering != root)              // harts that linger in it read this
        t->lingering = root;
    if (const unsigned size = t->grow(ranks); t->last_size != size) t->last_size = size;
    return t;
}

void set_stack_size(std::size_t bytes) noexcept { stack_size = bytes; }

unsigned size(const team *t) noexcept { return t ? t->last_size : 1; }

void run(team *t, body_fn body, void *arg, region_kind kind, const void *known_as) noexcept {
    if (!t) [[unlikely]]
        return body(arg, 0);
    // Also one that `prepare` gave a hart may have lost it since, where memory was allocated.
    if (t->master->on->carried)
        t->run(body, arg, t->last_size, kind, known_as ? known_as : reinterpret_cast<const void *>(body));
    else
        t->run_without_harts(body, arg, t->last_size);
    if (!t->is_hot) [[unlikely]]
        drop(t);
}

void give_way_to_master() noexcept {
    context *c = core::current_context();
    if (team *t = owner_on_hart(c)) t->give_way_to_master(c);
}

standby_end stand_by(standby &s) noexcept {
    context *c = core::current_context();
    team *t = owner_on_hart(c);
    return t ? t->stand_by(c, s) : standby_end::cannot;
}

void call_for_standbys() noexcept {
    const context *c = core::current_context();
    if (team *t = team_around(c)) t->call_for_standbys(c->on->carried);
}

void let_thread_go_on() noexcept {
    constexpr int most = 64; // others that are ready have their turns before
    const context *c = core::current_context();
    for (int i = 0; i < most && c && c->on->carried && c != c->on->native && core::home_ready(c->on, c->owner); ++i)
        if (!core::let_others_run()) return;
}

void watch_regions(void (*watcher)(int harts)) noexcept { region_watcher.store(watcher, std::memory_order_relaxed); }

std::int64_t workers_cpu_ns() noexcept { return core::workers_cpu_ns(); }

unsigned busy_harts() noexcept {
    const unsigned harts = base().hart_count(), free = base().free_count();
    return free < harts ? harts - free : 0;
}

unsigned claim_harts() noexcept {
    if (sys::kernel_state_here != 0) return base().hart_count(); // it has none, and none of them works for it
    carrier *k = core::adopt_if_possible();
    if (!k) return 1;
    const bool outside =
        k->adopted && !k->carried && k->current == k->native && !k->native->owner && !core::is_promoted(k->current);
    if (outside && !base().keep(k)) {
        base().release_from_sleepers(); // such a one is kept for this thread now
        if (!base().keep(k)) return 1;
    }
    const auto free_harts = [k] {
        unsigned n = 1 + base().free_count();
        if (k->native && k->native->hot) {
            auto *t = static_cast<team *>(k->native->hot);
            if (t->lingering && !t->busy) n += core::sched::harts_of(t->account.load(std::memory_order_relaxed));
        }
        return n;
    };
    const unsigned all = base().hart_count();
    if (free_harts() < all) base().release_from_sleepers();
    return std::min(free_harts(), all);
}

} // namespace comity::spmd
