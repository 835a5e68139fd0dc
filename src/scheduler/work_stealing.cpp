#include "scheduler/work_stealing.hpp"

#include "core/base.hpp"
#include "core/displacement.hpp"
#include "core/idle_spin.hpp"
#include "core/input.hpp"
#include "core/runtime.hpp"
#include "sys/random.hpp"
#include "sys/stack_pool.hpp"

#include <algorithm>
#include <new>

namespace comity {

using core::base;

namespace scheduler {

namespace {

work_stealing *as_own(comity_sched_t *s) noexcept { return static_cast<work_stealing *>(core::unwrap(s)); }
work_stealing *as_own(unit_scheduler *s) noexcept { return static_cast<work_stealing *>(s); }

void on_request(comity_sched_t *self, comity_sched_t *child, int) { as_own(self)->child_wants(core::unwrap(child)); }
void on_unregister(comity_sched_t *self, comity_sched_t *child) { as_own(self)->child_ends(core::unwrap(child)); }
void on_hart(comity_sched_t *self) { as_own(self)->next(core::current_carrier()); }
void on_enter(comity_sched_t *self) {
    carrier *k = core::current_carrier();
    as_own(self)->arrives(k);
    as_own(self)->start_here(k);
}
void on_yield(comity_sched_t *self, comity_sched_t *) { on_hart(self); }
void on_block(comity_sched_t *self, comity_context_t *) { on_hart(self); }
void on_unblock(comity_sched_t *self, comity_context_t *c) {
    as_own(self)->make_ready(context_list(core::unwrap(c)), 1);
}

constexpr comity_sched_callbacks_t callbacks{nullptr,  on_unregister, on_request, on_enter,
                                             on_yield, on_block,      on_unblock};

constexpr core::unit_hooks unit_callbacks{
    [](unit_scheduler *s, unit *u) noexcept { return as_own(s)->push_in_order(u); },
    [](unit_scheduler *s) noexcept { as_own(s)->call_help(); },
    [](unit_scheduler *s, carrier *k) noexcept { as_own(s)->next(k); },
    [](unit_scheduler *s, context *c, const void *what) noexcept { return as_own(s)->yield_to(c, what); },
    [](unit_scheduler *s, context *c) noexcept { as_own(s)->yield_to_fresh(c); },
    [](unit_scheduler *s, context *c, unsigned hart) noexcept { as_own(s)->put_on(c, hart); },
    [](unit_scheduler *s, unit *u) noexcept { as_own(s)->accept(u); },
    [](unit_scheduler *s, const comity_pool *p) noexcept { return as_own(s)->takes_from(p); },
    [](unit_scheduler *s, carrier *k) noexcept { return as_own(s)->sees_nothing_beyond(k); },
    [](unit_scheduler *s, const unit *u, const context *creator) noexcept { return as_own(s)->goes_first(u, creator); },
    [](unit_scheduler *s, context *creator, unit *u) noexcept { as_own(s)->gives_way(creator, u); },
    [](unit_scheduler *s, unit *u) noexcept { as_own(s)->ends(u); },
    [](unit_scheduler *s) noexcept { return as_own(s)->has_waiting(); },
    [](unit_scheduler *s, unsigned living) noexcept { as_own(s)->forget_all(living); }};

// After this time a hart goes where it is waited for.
constexpr std::uint64_t quantum_us = 1000;

bool other_work(core::sched *s) noexcept { return static_cast<work_stealing *>(s)->has_work(core::current_carrier()); }

void unblock_all(core::sched *s, context *first) noexcept {
    core::unblock_in_lists(first, [s](const context_list &list, unsigned n) noexcept {
        static_cast<work_stealing *>(s)->make_ready(list, n);
    });
}

constexpr core::sched_hooks hooks{
    .other_work = other_work,
    .switch_to_other =
        [](core::sched *s, context *from, core::arch::after_fn after, void *arg) noexcept {
            return static_cast<work_stealing *>(s)->switch_to_other(from, after, arg);
        },
    .unblock_all = unblock_all,
    .units = &unit_callbacks,
    .yield = [](core::sched *s, context *c) noexcept { return static_cast<work_stealing *>(s)->yield(c); },
    .displaced =
        [](core::sched *s, context *c, const sys::interruption *slice) noexcept {
            return static_cast<work_stealing *>(s)->may_go(c, slice);
        },
    .work_of = [](core::sched *s, const carrier *k) noexcept -> void * {
        auto &own = static_cast<work_stealing *>(s)->slots[k->carried->id];
        own.here.store(true, std::memory_order_relaxed);
        return &own;
    },
    .registrant_ends =
        [](core::sched *s) noexcept {
            auto *own = static_cast<work_stealing *>(s);
            if (own->implicit) own->close();
        },
    .around_fork = [](core::sched *s, core::fork_stage stage,
                      const carrier *k) noexcept { static_cast<work_stealing *>(s)->around_fork(stage, k); },
    .keeps_woken =
        [](const core::sched *s) noexcept { return static_cast<const work_stealing *>(s)->lets_pairs_meet(); },
    .hart_is_held = [](core::sched *s) noexcept { static_cast<work_stealing *>(s)->call_others(); }};

} // namespace

// ---- Begin and end

work_stealing *work_stealing::open(policy *p) noexcept {
    core::ensure_started();
    const unsigned n = base().hart_count();
    auto *s = new (std::nothrow) work_stealing;
    auto *slots =
        static_cast<slot *>(::operator new ((n + 1) * sizeof(slot), std::align_val_t{alignof(slot)}, std::nothrow));
    if (!s || !slots) {
        ::operator delete (slots, std::align_val_t{alignof(slot)});
        delete s;
        delete p;
        return nullptr;
    }
    s->take_order(p);
    for (unsigned i = 0; i <= n; ++i) {
        new (&slots[i]) slot(s, i, n > 1);
        if (p) slots[i].fresh.close();
    }
    s->harts = n;
    s->full_account.store(n * one_hart, std::memory_order_relaxed);
    s->slots = slots;
    s->victims_ = victims::make(n);
    core::register_sched(s, &scheduler::callbacks);
    s->hooks = &scheduler::hooks;
    core::become(s->registrant->on, s);
    s->arrives(s->registrant->on);
    if (s->registrant->home) watch_scope(s);
    return s;
}

work_stealing::~work_stealing() {
    delete policy_.load(std::memory_order_relaxed);
    for (unsigned i = 0; slots && i <= harts; ++i) slots[i].~slot();
    ::operator delete (slots, std::align_val_t{alignof(slot)});
}

void work_stealing::close() noexcept {
    forget_scope(this);
    while (!all_ended() || has_unfinished())
        core::pause(
            registrant,
            [](context *, void *self) {
                auto *s = static_cast<work_stealing *>(self);
                s->closing_.store(true, std::memory_order_release);  // release[closing-mark]
                std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[closing]
                s->next(core::current_carrier());
            },
            this);
    core::unregister_sched("comity_threads_end");
    sys::cool_free_stacks();
    delete this;
}

// A hart that finds nothing to do looks whether that is the end. Here and in close(): the fence stands between writing
// one's own mark and reading the other's, so one of the two sees both.
void work_stealing::tell_closer() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[closing]
    if (!closing_.load(std::memory_order_relaxed) || !all_ended()) return;
    if (!closing_.exchange(false, std::memory_order_acq_rel)) return; // acq_rel[closing-mark]
    core::unblock(registrant);
    if (alone()) call_harts(1); // the caller is about to leave, so make_ready is wrong to rely on it
}

// ---- Work comes

void work_stealing::make_ready(context_list list, unsigned n) noexcept {
    carrier *k = core::current_carrier();
    // A context that is ready may run and end the scheduler before we are done here, unless our own hart is in it.
    const bool inside = k && k->carried && k->current_sched == this;
    if (!inside) pin();
    unsigned others = n;
    if (has_affinities() && !list.first()->home) [[unlikely]]
        others = line_up_kept(list);
    if (!list.empty() && list.first()->home)
        core::post_home(list.first());
    else if (!list.empty())
        line_up(slots[k && k->carried ? static_cast<unsigned>(k->carried->id) : harts], list, others, occasion::ready);
    if (!inside || !alone()) call_harts(n); // else the one hart there is comes to it
    if (!inside) unpin();
}

void work_stealing::put_on(context *c, unsigned hart) noexcept {
    const carrier *k = core::current_carrier();
    if (k && k->carried && k->current_sched == this && static_cast<unsigned>(k->carried->id) == hart)
        return put_back(c);
    pin();
    if (c->home)
        core::post_home(c);
    else
        enqueue(slots[hart], context_list(c), 1);
    call_harts(1);
    unpin();
}

void work_stealing::enqueue(slot &s, const context_list &list, unsigned n) noexcept {
    const bool shared = needs_lock(s);
    if (shared) s.lock.lock();
    append(s, list, n);
    if (shared) s.lock.unlock();
}

// With the slot's lock, where it is needed.
void work_stealing::append(slot &s, const context_list &list, unsigned n) noexcept {
    if (s.owner->affinity.load(std::memory_order_relaxed)) [[unlikely]]
        count_kept(s, list);
    s.ready.append(list, n);
}

// The calling hart, which stays in the scheduler and comes to it itself, puts a context that yielded behind the others.
void work_stealing::put_back(context *c) noexcept {
    if (c->home)
        core::post_home(c);
    else
        enqueue(slots[core::current_carrier()->carried->id], context_list(c), 1);
}

// There is new work, which must not be left behind: something is wanted afterwards, so that a hart which leaves at this
// moment comes back (core::yield).
void work_stealing::call_harts(unsigned n) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-leave]
    if (has_searchers()) return;
    std::uint64_t a = account.load(std::memory_order_relaxed);
    if (wanted_of(a) != 0) return;
    const std::uint32_t may = most(), missing = harts_of(a) < may ? may - harts_of(a) : 1,
                        wanted = n < missing ? n : missing;
    want(wanted);
    a = account.load(std::memory_order_relaxed); // all may have left before they could find it wanted
    if (harts_of(a) < may) parent->callbacks->request(handle(parent), handle(this), static_cast<int>(wanted));
}

void work_stealing::ask_for_harts(unsigned n) noexcept {
    want(n);
    parent->callbacks->request(handle(parent), handle(this), static_cast<int>(n));
}

void work_stealing::child_wants(core::sched *child) noexcept {
    children_.add(child);
    call_harts(1);
}

// ---- Work is found

// What other harts keep for themselves does not count.
bool work_stealing::has_work(const carrier *k) noexcept { return core::home_ready(k, this) || has_queued(work_of(k)); }

// The same for who looks again and again: without a look at where other harts push and pop, since each takes a line
// away from who writes it every few nanoseconds. What a hart has pushed it shows, unless thieves have taken all that it
// showed since.
bool work_stealing::sees_work(const carrier *k) noexcept {
    return core::home_ready(k, this) || has_queued(work_of(k), alone());
}

bool work_stealing::has_queued(const slot *own, bool looks_closely) noexcept {
    if (!children_.empty()) return true;
    for (unsigned i = 0; i <= harts; ++i) {
        const slot &s = slots[i];
        const std::uint32_t ready = s.ready.size();
        if (ready != 0 && (!own || &s == own || ready > s.kept.get())) return true;
        if (looks_closely || &s == own ? !s.fresh.empty() : s.fresh.has_public()) return true;
    }
    return in_order() && has_in_order();
}

context *work_stealing::take_ready(slot &s) noexcept {
    if (s.ready.empty()) return nullptr;
    const bool shared = needs_lock(s);
    if (shared) s.lock.lock();
    context *c = s.ready.pop_front();
    if (c && s.kept.get() != 0) [[unlikely]]
        uncount_kept(s, c);
    if (shared) s.lock.unlock();
    return c;
}

unit *work_stealing::steal_fresh(carrier *k, bool own_too) noexcept {
    const unsigned own = static_cast<unsigned>(k->carried->id), from = core::is_chaos() ? core::chaos_random() % harts
                                                                       : victims_       ? sys::some_number()
                                                                                        : own + 1;
    for (unsigned i = 0; i < harts; ++i) {
        slot &victim = slots[victims_ ? victims_->at(own, i, from) : (from + i) % harts];
        const bool is_own = &victim == work_of(k);
        if (victim.fresh.empty() || (!own_too && is_own)) continue;
        if (is_own) victim.fresh.publish();
        if (unit *u = victim.fresh.steal()) {
            ++k->count.steals;
            return u;
        }
    }
    return nullptr;
}

context *work_stealing::steal_ready(carrier *k, unsigned from) noexcept {
    const unsigned own = static_cast<unsigned>(k->carried->id);
    const bool near_first = victims_ && from == 0;
    const unsigned random = near_first ? sys::some_number() : 0;
    for (unsigned i = 0; i < harts; ++i) {
        unsigned victim = (own + 1 + (from + i) % harts) % (harts + 1);
        if (near_first) victim = i == 0 ? harts : victims_->at(own, i - 1, random);
        if (context *c = take_ready_for(slots[victim], own)) {
            if (victim != harts) ++k->count.steals;
            return c;
        }
    }
    return nullptr;
}

// Fresh units and contexts that may go on take turns, so that neither can starve the other.
void work_stealing::next(carrier *k) noexcept {
    slot &own = *work_of(k);
    for (;;) {
        const unsigned turn = own.take_turn();
        if (turn % turns_at_home == 0) look_beyond(k);
        if (turn % 2 || turn % turns_at_home == 0)
            if (context *c = take_ready(own)) {
                own.note_ready();
                core::resume(k, c);
            }
        if (unit *u = core::chaos_chance(4) ? nullptr : own.fresh.pop()) {
            if (could_use_harts() && !own.fresh.empty()) [[unlikely]]
                ask_for_harts(1); // a hart that gave way, or none yet, could help
            u->run(u, k);
        } else {
            find_work(k, own);
        }
    }
}

bool work_stealing::lets_pairs_meet() const noexcept {
    return harts == 2 && parent == &base() && !in_order() && !has_affinities();
}

// Threads that meet, or hand something on, stop and go on so often that moving one costs more than letting its hart get
// to it. So harts that will soon have gone through their ready contexts are left alone, for a while at most; for longer
// where the one that was taken the last time has kept this hart busy for a moment only. True: the caller looks again.
bool work_stealing::leaves_to_others(slot &own, patience &left) noexcept {
    constexpr std::uint64_t soon_us = 5;
    constexpr unsigned least_us = slot::least_patience_us, most_us = 16 * least_us;
    const bool is_long = lets_pairs_meet(), is_root = parent == &base();
    if ((is_root && base().pressed()) || closing_.load(std::memory_order_relaxed)) return false;
    const std::uint64_t us = core::ticks_per_us(), begin = sys::ticks(), longest_us = is_long ? 8 : 4;
    if (left.since == 0) {
        left.since = begin;
        if (own.took_at != 0)
            own.patience_us = begin - own.took_at < least_us * us ? std::min(2 * own.patience_us, most_us) : least_us;
        own.took_at = 0;
    }
    const std::uint64_t longest = is_long ? own.patience_us : least_us;
    if (begin - left.since > longest * us || core::chaos_chance(2)) return false;
    std::uint64_t queued = 0;
    for (const slot *s = slots; s != slots + harts; ++s) queued += s->ready.size();
    if (queued == 0) {
        if (!is_long || left.for_us == 1) return false;
        queued = 1; // of threads that take turns there is often none for a moment
    }
    // Looks at its own lines only meanwhile: the others write theirs with each turn.
    const std::uint64_t turns_before = turns_taken();
    while (sys::ticks() - begin < left.for_us * us && own.ready.empty()) sys::cpu_relax();
    const std::uint64_t turns = turns_taken() - turns_before, within_us = left.for_us;
    if (left.for_us < longest_us) left.for_us *= 2;
    return turns * soon_us >= queued * within_us;
}

std::uint64_t work_stealing::turns_taken() const noexcept {
    std::uint64_t sum = 0;
    for (const slot *s = slots; s != slots + harts; ++s) sum += s->turns.load(std::memory_order_relaxed);
    return sum;
}

// The hart has found something that was not its own, and may have been called for several such things: while one hart
// is wanted, nobody asks for another one. So it does, if harts are elsewhere and there is more.
void work_stealing::call_for_more(const slot &own) noexcept {
    if (!could_use_harts() || has_searchers()) return;
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-leave]
    if (has_queued(&own)) ask_for_harts(1);
}

// There is nothing fresh here. Returns after a unit has ended without being stopped.
void work_stealing::find_work(carrier *k, slot &own) noexcept {
    const auto run = [this, k, &own](unit *u) noexcept {
        call_for_more(own);
        u->run(u, k);
    };
    const auto resume = [this, k, &own](context *c) noexcept {
        call_for_more(own);
        core::resume(k, c);
    };
    bool searched = false; // then nobody was called for what is here
    for (patience left;;) {
        settle(own);
        if (in_order())
            if (unit *u = pick(own)) return run(u);
        if (context *c = take_ready(own)) searched ? resume(c) : core::resume(k, c);
        if (core::home_ready(k, this)) {
            if (searched) call_for_more(own);
            core::go_home(k, this);
        }
        if (context *c = take_ready(slots[harts])) resume(c);
        if (unit *u = steal_fresh(k, true)) return run(u); // under chaos there may be own ones, too
        if (core::sched *child = children_.pick()) {
            if (searched || !children_.empty())
                call_for_more(own); // the child may want more than the one called for it
            core::enter(k, child);
        }
        if (leaves_to_others(own, left)) continue;
        if (context *c = steal_ready(k)) {
            own.took_at = sys::ticks();
            resume(c);
        }
        searched = wait_for_work(k);
        if (!searched) {
            tell_closer();
            if (stays_for_kept(k, own)) continue;
            core::yield(k);
        }
        if (!own.fresh.empty()) return;
    }
}

// Work beyond the hart's own queues: it would never be found while those are not empty. Everything there has its turn.
void work_stealing::look_beyond(carrier *k) noexcept {
    if (should_give_way(k)) give_way(k);
    if (is_surplus()) leave_if_surplus(k);
    settle(*work_of(k));
    if (has_affinities()) take_absent(k);
    const unsigned turn = work_of(k)->turns.load(std::memory_order_relaxed) / turns_at_home;
    for (unsigned i = 0; i < 4; ++i) {
        switch ((turn + i) % 4) {
        case 0:
            if (context *c = alone() ? take_ready(slots[harts]) : steal_ready(k, turn / 4)) core::resume(k, c);
            break;
        case 1:
            if (core::sched *child = children_.pick()) {
                if (!children_.empty()) call_for_more(*work_of(k));
                core::enter(k, child);
            }
            break;
        case 2: // a native context that yields for ever is always ready
            if (core::home_ready(k, this)) core::go_home(k, this);
            break;
        default:
            // The hart's own oldest one now and then, or ever newer ones would keep it waiting.
            if (unit *u = take_spare()) return u->run(u, k);
            if (unit *u = steal_fresh(k, turn % turns_at_home == turns_at_home - 1)) return u->run(u, k);
        }
    }
}

// The look of who runs threads one after the other, every turns_at_home turns, at all at once that look_beyond looks at
// in turn; where there are other harts it does not look into their queues, as it is the scheduler's loop that does so.
// Nor may the hart's own oldest unit wait for ever.
bool work_stealing::sees_nothing_beyond(carrier *k) noexcept {
    slot &own = *work_of(k);
    const unsigned turn = own.turns.load(std::memory_order_relaxed) / turns_at_home + 1;
    if (turn % (alone() ? turns_at_home : 2) == 0 || !children_.empty() || !slots[harts].ready.empty() ||
        !own.ready.empty() || in_order() || has_affinities() || is_surplus() || core::home_ready(k, this) ||
        should_give_way(k))
        return false;
    own.take_turn();
    return true;
}

// Others wait for a hart, and this one has been here for long: it goes, the last one only for somebody who has none.
bool work_stealing::should_give_way(carrier *k) noexcept {
    if (parent != &base() || !base().pressed_by_others(this)) return false;
    slot &own = *work_of(k);
    const std::uint64_t now = sys::ticks(), quantum = quantum_us * core::ticks_per_us();
    if (now - own.entered_at <= quantum || now - k->granted_at <= quantum) return false;
    if (harts_of(account.load(std::memory_order_relaxed)) > 1 || base().should_have_the_last(k->carried)) return true;
    own.entered_at = now; // asked again in a while
    return false;
}

void work_stealing::give_way(carrier *k) noexcept {
    leaves(*work_of(k));
    if (has_queued()) core::give_way(k);
    tell_closer(); // as in next()
    core::yield(k);
}

// The hart has just come.
void work_stealing::start_here(carrier *k) noexcept {
    if (is_surplus()) leave_if_surplus(k);
    settle(*work_of(k));
    next(k);
}

// A program's own thread stays: it would bring its hart back as soon as its own computation goes on.
void work_stealing::leave_if_surplus(carrier *k) noexcept {
    if (k->adopted) return;
    slot &own = *work_of(k);
    leaves(own);
    core::leave_surplus(k, most(), has_queued());
    own.here.store(true, std::memory_order_relaxed);
}

// Whoever puts a unit into an order, or takes one out, writes what a searcher looks at: one that looks all the time
// makes each creation of a short thread twice as long. So one that finds nothing looks less and less often, but for
// children, who write only when they want harts.
void work_stealing::wait_between_looks(slot &own) const noexcept {
    constexpr unsigned longest_us = 8;
    const std::uint64_t from = sys::ticks(), length = own.wait_us * core::ticks_per_us();
    while (sys::ticks() - from < length) {
        if (!children_.empty()) return;
        sys::cpu_relax();
    }
    own.wait_us = std::min(2 * own.wait_us, longest_us);
}

// A hart of a root waits a little before it leaves: new work mostly follows soon. Meanwhile it is a searcher, so nobody
// is called for what it will find; so it looks again when it is none any more.
bool work_stealing::wait_for_work(carrier *k) noexcept {
    if (parent != &base() || k->park.naps()) return false;
    searchers_.fetch_add(1, std::memory_order_relaxed);
    base().searches(+1);
    const std::uint64_t from = sys::ticks(), most = core::spin_ticks();
    const bool looks_once = core::is_paced_by_calls();
    if (looks_once) core::skip_idle_spin();
    const unsigned close_looks = 8 * harts; // so many turns apart: the more harts search, the rarer each looks closely
    bool found = false;
    for (unsigned i = 0; looks_once ? i == 0 : !(i % 16 == 15 && sys::ticks() - from > most); ++i) {
        core::look_for_input(i);
        found = i % close_looks == 0 ? has_work(k) : sees_work(k);
        if (found || closing_.load(std::memory_order_relaxed) || base().pressed()) break;
        if (!looks_once) in_order() ? wait_between_looks(*work_of(k)) : sys::cpu_relax();
    }
    constexpr std::uint64_t short_us = 4;
    if (!found || sys::ticks() - from > short_us * core::ticks_per_us()) core::note_long_search();
    base().searches(-1);
    searchers_.fetch_sub(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-leave]
    return has_work(k);
}

// Where nobody has said otherwise, a kernel thread's own computation that opened the scheduler may leave its hart there
// and come back when it needs one (core::come_back).
bool work_stealing::may_go(const context *c, const sys::interruption *slice) noexcept {
    const bool opened_it = c == registrant && parent == &base();
    if (const lets_go_function ask = lets_go.load(std::memory_order_relaxed))
        return (!c->home || opened_it) && ask(c, slice);
    if (slice || !opened_it || !c->home || c->runs || c->on->current_sched != this) return false;
    c->on->left = this;
    return true;
}

// A yield lets those go on that have started, which is a mere switch; every few turns it looks at everything else.
bool work_stealing::yield(context *c) noexcept {
    carrier *k = c->on;
    slot &own = *work_of(k);
    if (own.take_turn() % turns_at_home == 0) [[unlikely]] {
        const bool beyond = has_beyond(k, own);
        if (beyond || !own.fresh.empty()) {
            core::pause(c, beyond ? yield_and_look_around : start_fresh_behind, this);
            return true;
        }
    }
    if (alone() && !c->home && own.ready.first()) {
        change_places(own, c);
        return true;
    }
    return yield_to_shared(c, own);
}

// With one hart: the first goes on, and `c` stands behind the others; nobody takes it before it is off its stack.
void work_stealing::change_places(slot &own, context *c) noexcept {
    context *first = own.ready.exchange_front(c);
    own.note_ready();
    core::switch_to(c, first);
}

void work_stealing::yield_to_fresh(context *c) noexcept {
    carrier *k = c->on;
    slot &own = *work_of(k);
    if (own.fresh.empty() || !own.take_turn_at_home()) {
        yield(c);
        return;
    }
    core::pause(c, start_fresh_behind, this);
}

bool work_stealing::yield_to(context *c, const void *what) noexcept {
    slot &own = *work_of(c->on);
    if (alone() && !c->home && own.ready.first() && own.ready.first()->runs == what) {
        change_places(own, c);
        return true;
    }
    context *other = take(own, what);
    if (other) core::switch_to(c, other, put_back_yielded, c);
    return other;
}

context *work_stealing::take(slot &own, const void *what) noexcept {
    const bool shared = needs_lock(own);
    if (shared) own.lock.lock();
    context *c = own.ready.take_if([what](const context *r) { return r->runs == what; });
    if (c) uncount_kept(own, c);
    if (shared) own.lock.unlock();
    return c;
}

// On the stack of who goes on.
void work_stealing::put_back_yielded(void *c) {
    auto *before = static_cast<context *>(c);
    static_cast<work_stealing *>(before->owner)->put_back(before);
}

// `from`, which waits for something, stops and one that has started goes on. Every few turns not, to look around.
bool work_stealing::switch_to_other(context *from, core::arch::after_fn after, void *arg) noexcept {
    slot &own = *work_of(from->on);
    return own.take_turn_at_home() && switch_to_started(own, from, after, arg);
}

bool work_stealing::switch_to_started(slot &own, context *from, core::arch::after_fn after, void *arg) noexcept {
    context *other = take_ready(own);
    if (other)
        own.note_ready();
    else if (unit *u = own.pop_if_run_by(core::resume_unit))
        other = core::context_of(u);
    if (other) core::switch_to(from, other, after, arg);
    return other;
}

// Where others may take what is ready.
[[gnu::noinline]] bool work_stealing::yield_to_shared(context *c, slot &own) noexcept {
    if (switch_to_started(own, c, put_back_yielded, c)) return true;
    const bool fresh = !own.fresh.empty();
    if (!fresh && !has_work(c->on)) return false;
    core::pause(c, fresh ? start_fresh_behind : yield_to_any, this);
    return true;
}

// Is there anything that a hart which always finds something in its own queues would never come to?
bool work_stealing::has_beyond(carrier *k, const slot &own) noexcept {
    if (!children_.empty() || core::home_ready(k, this) || should_give_way(k) || is_surplus() || in_order())
        return true;
    for (unsigned i = 0; i <= harts; ++i)
        if (&slots[i] != &own && (!slots[i].ready.empty() || !slots[i].fresh.empty())) return true;
    return false;
}

void work_stealing::yield_and_look_around(context *c, void *self) {
    auto *s = static_cast<work_stealing *>(self);
    s->line_up_yielded(c);
    s->look_beyond(core::current_carrier());
    s->next(core::current_carrier());
}

void work_stealing::start_fresh_behind(context *c, void *self) {
    auto *s = static_cast<work_stealing *>(self);
    carrier *k = core::current_carrier();
    s->line_up_yielded(c);
    if (unit *u = work_of(k)->fresh.pop()) u->run(u, k);
    s->next(k);
}

void work_stealing::yield_to_any(context *c, void *self) {
    auto *s = static_cast<work_stealing *>(self);
    s->line_up_yielded(c);
    s->next(core::current_carrier());
}

} // namespace scheduler

unit_scheduler *open_default_scheduler() noexcept { return scheduler::work_stealing::open(); }
void end_default_scheduler(unit_scheduler *s) noexcept { static_cast<scheduler::work_stealing *>(s)->close(); }
void yield_units(unit_scheduler *s, core::context *c) noexcept { static_cast<scheduler::work_stealing *>(s)->yield(c); }

} // namespace comity
