// The scheduler under a policy: units go to the policy in place of the harts' own queues, and one kind takes the place
// of another. Why no unit is lost: README.md, "Another order".
#include "core/base.hpp"
#include "scheduler/policy/descent.hpp"
#include "scheduler/work_stealing.hpp"
#include "sys/kernel_thread.hpp"

namespace comity::scheduler {

namespace {

// unit::run of a context that may go on. One that belongs to another kernel thread waited here for its turn only.
void run_context(unit *u, carrier *k) noexcept {
    context *c = core::context_of(u);
    u->set_rank(0);
    if (c->home && c->home != k) return core::post_home(c);
    core::resume(k, c);
}

class all_locks {
public:
    all_locks(unit_scheduler::slot *slots, unsigned n) noexcept : slots_(slots), n_(n) {
        for (unsigned i = 0; i < n_; ++i) slots_[i].lock.lock();
    }
    ~all_locks() {
        for (unsigned i = 0; i < n_; ++i) slots_[i].lock.unlock();
    }
    all_locks(const all_locks &) = delete;
    all_locks &operator=(const all_locks &) = delete;

private:
    unit_scheduler::slot *slots_;
    unsigned n_;
};

} // namespace

// ---- Units come

unit *work_stealing::unit_of(context *c) noexcept {
    c->self.run = run_context;
    c->self.set_rank(c->runs ? static_cast<const unit *>(c->runs)->rank() : 0);
    return &c->self;
}

// For whom a context goes on.
unit *work_stealing::executed_by(const context *c) noexcept {
    if (c == registrant) return &root_; // what it executes may be a thread of the scheduler above
    return c->owner == this || c == &c->on->transition ? static_cast<unit *>(c->runs) : nullptr;
}

// To the policy; what that cannot keep, the scheduler does. With the lock of a slot.
void work_stealing::hand(policy *p, unsigned hart, unit *u, occasion why, unit *creator) noexcept {
    bool taken = false;
    descent *const order = p->by_descent;
    if (!order) u->tracked = tracking::none;
    if (!order)
        taken = p->push(u, why);
    else if (u->run == run_context || u->run == core::resume_unit)
        taken = order->line_up(hart, u, executed_by(core::context_of(u)), why);
    else
        taken = order->add(hart, u, creator, false);
    if (!taken) keep(u);
}

void work_stealing::keep(unit *u) noexcept {
    spare_lock_.lock();
    spare_.push_back(u);
    spare_lock_.unlock();
}

bool work_stealing::push_in_order(unit *u) noexcept {
    slot &own = *work_of(core::current_carrier());
    own.lock.lock();
    policy *p = policy_.load(std::memory_order_relaxed);
    if (p) hand(p, own.hart, u, occasion::created, p->by_descent ? executed_by(core::current_context()) : nullptr);
    if (p && p->by_descent) p->by_descent->keep_for(own.hart);
    own.lock.unlock();
    if (!p) {
        u->tracked = tracking::none;
        if (!own.fresh.is_closed()) return false; // no memory
        own.fresh.open();
        return push_parent(own, u);
    }
    if (could_use_harts()) call_help(); // without a fence: as push_parent
    return true;
}

// From outside: no hart of the scheduler has it in its deque. Without a policy it waits in the scheduler's own list.
void work_stealing::accept(unit *u) noexcept {
    pin();
    if (u) {
        slot &outside = slots[harts];
        outside.lock.lock();
        if (policy *p = policy_.load(std::memory_order_relaxed)) {
            hand(p, harts, u, occasion::created);
        } else {
            u->tracked = tracking::none;
            keep(u);
        }
        outside.lock.unlock();
    }
    call_harts(1);
    unpin();
}

bool work_stealing::takes_from(const comity_pool *pool) noexcept {
    pin();
    slot &outside = slots[harts];
    outside.lock.lock();
    policy *p = policy_.load(std::memory_order_relaxed);
    const bool takes = p && p->takes_from(pool);
    outside.lock.unlock();
    unpin();
    return takes;
}

// Contexts that may go on.
void work_stealing::line_up(slot &s, const context_list &list, unsigned n, occasion why) noexcept {
    const bool shared = needs_lock(s);
    if (shared) s.lock.lock();
    policy *p = policy_.load(std::memory_order_relaxed);
    const bool goes_home = !p && list.first()->home;
    if (p && s.owner->affinity_of(list.first())) {
        append(s, list, n); // one that yields, on a hart of its set: it stays there
    } else if (p) {
        list.for_each([&](context *c) {
            if (c->self.comes_in_turn)
                append(s, context_list(c), 1);
            else
                hand(p, s.hart, unit_of(c), why);
        });
    } else if (!goes_home) {
        append(s, list, n);
    }
    if (shared) s.lock.unlock();
    if (goes_home) core::post_home(list.first());
}

// By descent: one that has used its quota up.
void work_stealing::line_up_delayed(slot &s, context *c, std::uint64_t dummies) noexcept {
    s.lock.lock();
    policy *p = policy_.load(std::memory_order_relaxed);
    const bool taken = p && p->by_descent && !affinity_of(c) &&
                       p->by_descent->line_up_delayed(s.hart, unit_of(c), executed_by(c), dummies);
    s.lock.unlock();
    if (!taken) line_up(s, c, occasion::ready);
}

void work_stealing::line_up_yielded(context *c) noexcept {
    line_up(slots[core::current_carrier()->carried->id], c, occasion::yielded);
}

// ---- Units are found

unit *work_stealing::pick(slot &own) noexcept {
    constexpr unsigned most_looks = 4; // before the hart looks elsewhere
    for (unsigned looks = 0;; ++looks) {
        own.lock.lock();
        policy *p = policy_.load(std::memory_order_relaxed);
        descent *const order = p ? p->by_descent : nullptr;
        const choice next = order ? order->pick_for(own.hart) : choice{.u = p ? p->pick() : nullptr};
        if (next.renews) own.allowance.store(order->quota, std::memory_order_relaxed);
        own.lock.unlock();
        if (next.u) own.wait_us = 1;
        if (next.u || !next.kept || looks == most_looks || !children_.empty()) return next.u ? next.u : take_spare();
        wait_between_looks(own);
    }
}

unit *work_stealing::take_spare() noexcept {
    if (spare_.empty()) return nullptr;
    spare_lock_.lock();
    unit *u = spare_.pop_front();
    spare_lock_.unlock();
    return u;
}

bool work_stealing::has_in_order() noexcept {
    if (!spare_.empty()) return true;
    slot &own = slots[core::current_carrier()->carried->id];
    own.lock.lock();
    policy *p = policy_.load(std::memory_order_relaxed);
    const bool has = p && p->has_work();
    own.lock.unlock();
    return has;
}

// A hint, for somebody who has no hart.
bool work_stealing::has_waiting() noexcept {
    bool has = !spare_.empty();
    for (unsigned i = 0; i <= harts && !has; ++i) has = !slots[i].ready.empty() || !slots[i].fresh.empty();
    if (has || !keeps_order()) return has;
    slot &outside = slots[harts];
    outside.lock.lock();
    policy *p = policy_.load(std::memory_order_relaxed);
    has = p && p->has_work();
    outside.lock.unlock();
    return has;
}

// Every thread has ended: are there still units of the user's own, which nobody counts? Those in his pools are his.
bool work_stealing::has_unfinished() noexcept {
    return in_order() && kind() != COMITY_SCHEDULER_POOLS && has_in_order();
}

// ---- Another kind

// The calling hart's deque takes units under work stealing only, and what it holds goes to the policy.
void work_stealing::settle(slot &own) noexcept {
    if ((policy_.load(std::memory_order_relaxed) != nullptr) == own.fresh.is_closed()) return;
    own.lock.lock();
    if (policy *p = policy_.load(std::memory_order_relaxed)) {
        while (!own.fresh.empty())
            if (unit *u = own.fresh.steal()) hand(p, own.hart, u, occasion::created);
        own.fresh.close();
    } else if (own.fresh.is_closed()) {
        own.fresh.open();
    }
    own.lock.unlock();
}

// With the locks of all slots, or before anybody else knows the scheduler.
void work_stealing::take_order(policy *p) noexcept {
    policy_.store(p, std::memory_order_relaxed);
    ordered.store(p != nullptr, std::memory_order_relaxed);
    kind_.store(p ? p->kind : COMITY_SCHEDULER_WORK_STEALING, std::memory_order_relaxed);
    quota.store(p && p->by_descent ? p->by_descent->quota : 0, std::memory_order_relaxed);
    root_.tracked = tracking::told;
}

void work_stealing::replace(policy *next) noexcept {
    slot &own = *work_of(core::current_carrier());
    policy *before = nullptr;
    {
        const all_locks l(slots, harts + 1);
        before = policy_.load(std::memory_order_relaxed);
        if (before && before->by_descent) before->by_descent->retire();
        take_order(next);
        if (before)
            move_units(*before, next, own);
        else if (next)
            move_queues(next);
    }
    delete before; // nobody uses it: that takes a slot's lock
    settle(own);
    call_harts(most()); // who looked at one order before and at the other one after this
}

// From the harts' own queues to the policy. What a hart puts into its deque at this moment it moves itself: settle.
void work_stealing::move_queues(policy *to) noexcept {
    for (unsigned i = 0; i <= harts; ++i) {
        slot &s = slots[i];
        s.kept.set(0);
        s.ready.take_all().for_each([&](context *c) {
            if (affinity_of(c))
                append(s, context_list(c), 1); // stands where it may run, whatever the order
            else
                hand(to, harts, unit_of(c), occasion::ready);
        });
        while (unit *u = s.fresh.steal()) hand(to, harts, u, occasion::created);
    }
}

// From a policy to another one, or to the queues of the calling hart. First out and then in: both may be of the same
// pools.
void work_stealing::move_units(policy &from, policy *to, slot &own) noexcept {
    sys::linked_list<unit> all;
    while (unit *u = from.pick()) all.push_back(u);
    all.for_each([&](unit *u) { move_unit(to, own, u); });
}

void work_stealing::move_unit(policy *to, slot &own, unit *u) noexcept {
    const bool goes_on = u->run == run_context;
    if (to) return hand(to, harts, u, goes_on ? occasion::ready : occasion::created);
    if (goes_on) {
        context *c = core::context_of(u);
        u->set_rank(0);
        return c->home ? core::post_home(c) : append(own, context_list(c), 1);
    }
    if (own.fresh.is_closed()) own.fresh.open();
    if (!own.fresh.push(u)) keep(u);
}

// With all locks nobody changes a policy, nor a list of contexts or children: the child finds none in the middle of a
// change.
void work_stealing::around_fork(core::fork_stage stage, const carrier *k) noexcept {
    for (unsigned i = 0; i <= harts; ++i) {
        slot &s = slots[i];
        if (stage == core::fork_stage::before) {
            s.lock.lock();
            continue;
        }
        s.lock.unlock();
        if (stage == core::fork_stage::child && (!k->carried || s.hart != static_cast<unsigned>(k->carried->id)))
            s.here.store(false, std::memory_order_relaxed);
    }
    if (stage == core::fork_stage::before) {
        spare_lock_.lock();
        return children_.before_fork();
    }
    if (stage == core::fork_stage::child) {
        searchers_.store(0, std::memory_order_relaxed);
        if (watched_in != 0) watched_in = sys::process_id();
    }
    children_.after_fork();
    spare_lock_.unlock();
}

void work_stealing::forget_all(unsigned living) noexcept {
    if (policy *p = policy_.load(std::memory_order_relaxed)) {
        if (p->by_descent) p->by_descent->retire();
        while (p->pick()) {
        }
    }
    for (unsigned i = 0; i <= harts; ++i) {
        slot &s = slots[i];
        while (!s.fresh.empty()) (void)s.fresh.steal();
        s.ready.clear();
        s.kept.set(0);
        s.created.store(i == 0 ? living : 0, std::memory_order_relaxed);
        s.ended.store(0, std::memory_order_relaxed);
    }
    spare_.clear();
    children_.before_fork();
    children_.drop_after_fork();
}

void work_stealing::set_most(unsigned n) noexcept {
    const unsigned to = n == 0 || n > harts ? harts : n;
    // Harts that left above the limit may have left something wanted of which the parent was not told.
    if (full_account.exchange(to * one_hart, std::memory_order_relaxed) < to * one_hart) ask_for_harts(to);
}

} // namespace comity::scheduler
