// A scheduler of units in the tree: each hart has a deque of fresh units, newest first, and a queue of contexts that
// may go on, oldest first; a hart without work steals, and gives itself back to the parent when there is nothing.
// A policy, if it has one, keeps the units in place of these queues (ordered.cpp). Protocols: README.md.
#pragma once

#include "core/child_list.hpp"
#include "core/spinlock.hpp"
#include "pool/deque.hpp"
#include "pool/unit.hpp"
#include "scheduler/policy/policy.hpp"
#include "scheduler/scope_watch.hpp"
#include "scheduler/victims.hpp"
#include "sys/linked_list.hpp"

#include <atomic>

namespace comity::scheduler {

using core::carrier;
using core::context;
using core::context_list;

class work_stealing : public unit_scheduler, public watched_scope {
public:
    // Registers a new scheduler with the calling context, which belongs to it until close(). Null: no memory. Any
    // thread or context. May switch. `p` is its own from now on, also if there is no memory; null: work stealing.
    static work_stealing *open(policy *p = nullptr) noexcept;
    // Waits until every unit has ended and every hart has gone, then ends the scheduler. The context that opened it.
    // May switch.
    void close() noexcept;

    // A context of the scheduler, on its hart; notify: anybody, while the scheduler lives. Never switch.
    void replace(policy *next) noexcept;
    void set_most(unsigned n) noexcept;
    void notify() noexcept {
        pin();
        call_harts(1);
        unpin();
    }
    comity_scheduler_kind_t kind() const noexcept { return kind_.load(std::memory_order_relaxed); }

    bool push_in_order(unit *u) noexcept;
    void call_help() noexcept { ask_for_harts(1); }
    void call_others() noexcept { call_harts(1); } // sched_hooks::hart_is_held
    bool yield(context *c) noexcept;
    bool switch_to_other(context *from, core::arch::after_fn after, void *arg) noexcept;
    void make_ready(context_list list, unsigned n) noexcept;
    // unit_hooks::yield_to, yield_to_fresh and put_on.
    bool yield_to(context *c, const void *what) noexcept;
    void yield_to_fresh(context *c) noexcept;
    void put_on(context *c, unsigned hart) noexcept;
    void accept(unit *u) noexcept; // unit_hooks::accept
    // unit_hooks::goes_first, gives_way, ends.
    bool goes_first(const unit *u, const context *creator) noexcept;
    void gives_way(context *creator, unit *u) noexcept;
    void ends(unit *u) noexcept;
    // The caller's thread allocates more than its hart's allowance. May switch.
    void charge(std::size_t bytes) noexcept;
    void child_wants(core::sched *child) noexcept;
    void child_ends(core::sched *child) noexcept { children_.forget(child); }
    bool takes_from(const comity_pool *pool) noexcept;                      // unit_hooks::takes_from
    bool sees_nothing_beyond(carrier *k) noexcept;                          // unit_hooks::sees_nothing_beyond
    bool has_waiting() noexcept;                                            // unit_hooks::has_waiting
    bool may_go(const context *c, const sys::interruption *slice) noexcept; // sched_hooks::displaced
    void around_fork(core::fork_stage stage, const carrier *k) noexcept;    // sched_hooks::around_fork
    void forget_all(unsigned living) noexcept;                              // unit_hooks::forget_all
    void arrives(const carrier *k) noexcept { work_of(k)->entered_at = sys::ticks(); }
    [[noreturn]] void start_here(carrier *k) noexcept;
    [[noreturn]] void next(carrier *k) noexcept;
    bool has_work(const carrier *k) noexcept;
    bool sees_work(const carrier *k) noexcept;
    // May two threads that only take turns come together on one hart, while the other one leaves them there? With more
    // harts all that are idle would be kept awake by contexts that are ready for a moment.
    bool lets_pairs_meet() const noexcept;

private:
    work_stealing() = default;
    ~work_stealing();
    context *take_ready(slot &s) noexcept;
    unit *steal_fresh(carrier *k, bool own_too) noexcept;
    context *steal_ready(carrier *k, unsigned from = 0) noexcept;
    void ask_for_harts(unsigned n) noexcept;
    bool should_give_way(carrier *k) noexcept;
    [[noreturn]] void give_way(carrier *k) noexcept;
    void find_work(carrier *k, slot &own) noexcept;
    void call_for_more(const slot &own) noexcept;
    struct patience {
        std::uint64_t since = 0;  // ticks; 0: not yet
        std::uint64_t for_us = 1; // until the next look
    };
    std::uint64_t turns_taken() const noexcept;
    bool leaves_to_others(slot &own, patience &left) noexcept;
    void look_beyond(carrier *k) noexcept;
    bool has_queued(const slot *own = nullptr, bool looks_closely = true) noexcept;
    void put_back(context *c) noexcept;
    static void put_back_yielded(void *c);
    static void change_places(slot &own, context *c) noexcept;
    context *take(slot &own, const void *what) noexcept;
    void enqueue(slot &s, const context_list &list, unsigned n) noexcept;
    static void count_kept(slot &s, const context_list &list) noexcept;
    static void uncount_kept(slot &s, const context *c) noexcept;
    static void append(slot &s, const context_list &list, unsigned n) noexcept;
    void leave_if_surplus(carrier *k) noexcept;
    bool is_surplus() const noexcept { return core::sched::harts_of(account.load(std::memory_order_relaxed)) > most(); }

    // With threads that have an affinity: affinity.cpp.
    unsigned line_up_kept(context_list &list) noexcept;
    slot &choose_slot(const hart_set &set) noexcept;
    context *take_ready_for(slot &s, unsigned hart) noexcept;
    bool stays_for_kept(carrier *k, slot &own) noexcept;
    bool take_absent(carrier *k) noexcept;
    void leaves(slot &own) noexcept;
    // With a policy: ordered.cpp.
    bool in_order() const noexcept { return policy_.load(std::memory_order_relaxed) || !spare_.empty(); }
    void line_up(slot &s, const context_list &list, unsigned n, occasion why) noexcept;
    void line_up(slot &s, context *c, occasion why) noexcept { line_up(s, context_list(c), 1, why); }
    void line_up_yielded(context *c) noexcept;
    unit *pick(slot &own) noexcept;
    bool has_in_order() noexcept;
    bool has_unfinished() noexcept;
    void settle(slot &own) noexcept;
    void hand(policy *p, unsigned hart, unit *u, occasion why, unit *creator = nullptr) noexcept;
    unit *executed_by(const context *c) noexcept;
    static unit *unit_of(context *c) noexcept; // by which a context that may go on stands in a policy
    void take_order(policy *p) noexcept;
    void line_up_delayed(slot &s, context *c, std::uint64_t dummies) noexcept;
    // Depth first: depth_first.cpp.
    static void wait_for_quota(context *c, void *wanted);
    bool goes_on_with_quota(slot &own, const context *c) noexcept;
    void keep(unit *u) noexcept;
    unit *take_spare() noexcept;
    void move_queues(policy *to) noexcept;
    void move_units(policy &from, policy *to, slot &own) noexcept;
    void move_unit(policy *to, slot &own, unit *u) noexcept;
    void call_harts(unsigned n) noexcept;
    bool switch_to_started(slot &own, context *from, core::arch::after_fn after, void *arg) noexcept;
    bool yield_to_shared(context *c, slot &own) noexcept;
    bool has_beyond(carrier *k, const slot &own) noexcept;
    bool wait_for_work(carrier *k) noexcept;
    void wait_between_looks(slot &own) const noexcept;
    // Does a hart look for work that will find what is made ready now? Not what only some may run.
    bool has_searchers() const noexcept { return searchers_.load(std::memory_order_relaxed) != 0 && !has_affinities(); }
    // What yield() leaves to the transition context: the context that yielded goes behind the others first.
    static void yield_and_look_around(context *c, void *self);
    static void start_fresh_behind(context *c, void *self);
    static void yield_to_any(context *c, void *self);
    bool needs_lock(const slot &s) const noexcept { return !alone() || &s == &slots[harts]; }
    void tell_closer() noexcept;

    core::child_list children_;
    std::atomic<std::uint32_t> searchers_{0}; // harts in wait_for_work
    std::unique_ptr<victims> victims_;        // null: nobody is nearer than others
    // Read under the lock of one slot, written under those of all.
    std::atomic<policy *> policy_{nullptr};
    std::atomic<comity_scheduler_kind_t> kind_{COMITY_SCHEDULER_WORK_STEALING}; // the policy's
    unit root_; // the registrant, in an order by descent
    // When a program's own thread gave way to its child and has created none since (ticks; 0: none), and whether that
    // was long the last time. Hints, by whoever creates.
    std::atomic<std::uint64_t> left_at_{0};
    std::atomic<bool> was_away_for_long_{false};
    // Units that a policy had no memory for, by unit::next, under spare_lock_, which is taken after slots' locks.
    core::spinlock spare_lock_;
    sys::counted_list<unit> spare_;
    alignas(64) std::atomic<bool> closing_{
        false}; // the registrant waits for the last unit; whoever clears it unblocks him
};

} // namespace comity::scheduler
