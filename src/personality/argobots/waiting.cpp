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
    w.queued = true;
    waiters_.push_back(&w);
}

void wait_queue::remove(waiter &w) noexcept {
    if (!w.queued) return;
    waiters_.remove(&w);
    w.queued = false;
}

void wait_queue::signal_one(context_list &woken) noexcept {
    while (waiter *w = waiters_.pop_front()) {
        w->queued = false;
        context *c = nullptr;
        if (!w->signal(c)) continue; // its time had passed
        if (c) woken.push_back(c);
        return;
    }
}

void wait_queue::signal_all(context_list &woken) noexcept {
    waiters_.take_all().for_each([&woken](waiter *w) {
        w->queued = false;
        context *c = nullptr;
        if (w->signal(c) && c) woken.push_back(c);
    });
}

// ---- Sleepers

void sleepers::add(sleeper &p) noexcept {
    lock_.lock();
    p.next = nullptr;
    p.prev = last_;
    (last_ ? last_->next : first_) = &p;
    last_ = &p;
    ++count_;
    lock_.unlock();
}

void sleepers::remove(sleeper &p) noexcept {
    lock_.lock();
    (p.prev ? p.prev->next : first_) = p.next;
    (p.next ? p.next->prev : last_) = p.prev;
    --count_;
    lock_.unlock();
}

// A sleeper takes itself out of the lists after it has woken, under their locks: so it is there while we look.
void sleepers::wake(bool all) noexcept {
    context_list woken;
    lock_.lock();
    for (sleeper *p = first_; p; p = p->next) {
        context *c = nullptr;
        if (!p->w->signal(c)) continue; // awake already
        if (c) woken.push_back(c);
        if (!all) break;
    }
    lock_.unlock();
    core::unblock_all(woken.first());
}

} // namespace comity::abt
