#include "personality/argobots/waiting.hpp"

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "personality/argobots/work.hpp"

namespace comity::abt {

void waiter::prepare() noexcept {
    who_ = core::adopt()->current;
    word_.store(idle_, std::memory_order_relaxed);
    queued = false;
}

// The waiter is saved, or about to sleep in the kernel. False: it has been ended meanwhile, and nobody will unblock it.
bool waiter::park() noexcept {
    core::chaos_point();
    std::uint32_t expected = idle_;
    return word_.compare_exchange_strong(expected, parked_, std::memory_order_acq_rel); // acq_rel[abt-waiter]
}

bool waiter::end(std::uint32_t how, context *&c) noexcept {
    context *who = who_;
    std::uint32_t before = word_.load(std::memory_order_relaxed);
    c = nullptr;
    do {
        if (before >= signalled_) return false;
    } while (!word_.compare_exchange_weak(before, how, std::memory_order_acq_rel)); // acq_rel[abt-waiter]
    if (before == parked_) c = who; // else it goes on by itself, and may be gone
    return true;
}

void waiter::signal_and_wake() noexcept {
    context *c = nullptr;
    if (signal(c) && c) core::unblock(c);
}

void waiter::park_in_place(context *c, void *self) {
    carrier *k = core::current_carrier();
    if (static_cast<waiter *>(self)->park()) core::block(k, c);
    core::resume(k, c, nothing);
}

void waiter::wait_in_kernel() noexcept {
    carrier *k = who_->on;
    if (park()) core::sleep_without_hart(k); // returns at the one post that ending the wait makes
}

void waiter::wait() noexcept {
    if (thread *t = leaving_ult()) {
        leave_to_parent(
            t,
            [](void *self) {
                auto *w = static_cast<waiter *>(self);
                auto *t = static_cast<thread *>(w->who_->local);
                mark_blocked(t);
                if (!w->park()) make_ready(t, 0);
            },
            this);
        return;
    }
    wait_in_place();
}

void waiter::wait_in_place() noexcept {
    if (!who_->on->carried) return wait_in_kernel();
    core::pause(who_, park_in_place, this);
}

context *waiter::expired(core::timer *t) noexcept {
    waiter *w = static_cast<own_timer *>(t)->of;
    context *c = nullptr;
    return w->end(timed_out_, c) ? c : nullptr;
}

wake_up waiter::wait_until(std::int64_t deadline) noexcept {
    timer_.of = this;
    timer_.at = deadline;
    timer_.expired = expired;
    const bool armed = core::arm(timer_);
    if (!armed) { // no kernel thread for it: as if the time had passed
        context *c = nullptr;
        static_cast<void>(end(timed_out_, c));
    }
    wait();
    if (armed) core::cancel(timer_);
    return word_.load(std::memory_order_acquire) == timed_out_ ? wake_up::timed_out // acquire[abt-waiter]
                                                               : wake_up::signalled;
}

// ---- Queues

void wait_queue::add(waiter &w) noexcept {
    w.next = nullptr;
    w.queued = true;
    (last_ ? last_->next : first_) = &w;
    last_ = &w;
}

void wait_queue::remove(waiter &w) noexcept {
    if (!w.queued) return;
    waiter *before = nullptr;
    for (waiter *at = first_; at != &w; at = at->next) before = at;
    (before ? before->next : first_) = w.next;
    if (last_ == &w) last_ = before;
    w.queued = false;
}

void wait_queue::signal_one(context *&list) noexcept {
    while (waiter *w = first_) {
        first_ = w->next;
        if (!first_) last_ = nullptr;
        w->queued = false;
        context *c = nullptr;
        if (!w->signal(c)) continue; // its time had passed
        if (c) {
            c->next = list;
            list = c;
        }
        return;
    }
}

void wait_queue::signal_all(context *&list) noexcept {
    context *first = nullptr, *last = nullptr;
    for (waiter *w = first_, *next = nullptr; w; w = next) {
        next = w->next;
        w->queued = false;
        context *c = nullptr;
        if (!w->signal(c) || !c) continue;
        c->next = nullptr;
        (last ? last->next : first) = c;
        last = c;
    }
    first_ = last_ = nullptr;
    if (last) {
        last->next = list;
        list = first;
    }
}

void unblock_list(context *first) noexcept {
    for (context *next = nullptr; first; first = next) {
        next = first->next;
        core::unblock(first);
    }
}

// ---- Sleepers

void sleepers::add(sleep_place &p) noexcept {
    lock_.lock();
    p.next = nullptr;
    p.prev = last_;
    (last_ ? last_->next : first_) = &p;
    last_ = &p;
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    lock_.unlock();
}

void sleepers::remove(sleep_place &p) noexcept {
    lock_.lock();
    (p.prev ? p.prev->next : first_) = p.next;
    (p.next ? p.next->prev : last_) = p.prev;
    count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    lock_.unlock();
}

// A sleeper takes itself out of the lists after it has woken, under their locks: so it is there while we look.
void sleepers::wake(bool all) noexcept {
    context *list = nullptr;
    lock_.lock();
    for (sleep_place *p = first_; p; p = p->next) {
        context *c = nullptr;
        if (!p->w->signal(c)) continue; // awake already
        if (c) {
            c->next = list;
            list = c;
        }
        if (!all) break;
    }
    lock_.unlock();
    unblock_list(list);
}

} // namespace comity::abt
