#include "sync/wait_list.hpp"

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"
#include "thread/interruption.hpp"

#include "comity/thread.h"

namespace comity::sync {

using core::carrier;
using core::context;
using core::waiter;

namespace {

// Of a thread that nobody can wake, for want of memory to adopt it.
void nap() noexcept { sys::nap(1'000'000); }

bool look_until(bool (*ready)(void *) noexcept, void *arg, std::int64_t deadline) noexcept {
    bool good = false;
    while (!(good = ready(arg)) && sys::now_ns() < deadline) nap();
    return good;
}

// How long a waiter spins, in ticks: not beyond its deadline.
std::uint64_t ticks_to_spin(std::int64_t deadline) noexcept {
    const std::uint64_t most = core::spin_ticks();
    if (deadline == sys::no_deadline) return most;
    const std::int64_t now = sys::now_ns();
    if (deadline <= now) return 0;
    const std::uint64_t left_us = static_cast<std::uint64_t>(deadline - now) / 1000, per_us = core::ticks_per_us();
    return left_us < most / per_us ? left_us * per_us : most;
}

} // namespace

// ---- Waiting

bool wait_list::spin(context *c, ready_fn ready, void *arg, std::int64_t deadline) noexcept {
    carrier *k = c->on;
    if (!k->carried && !core::may_spin()) return ready(arg);
    core::sched *s = k->carried ? k->current_sched : nullptr;
    const core::sched_hooks *hooks = s ? s->hooks : nullptr;
    bool could_meet = false; // who waits and who wakes it, on one hart
    std::uint64_t from = 0, most = 0;
    for (unsigned i = 0; !(hooks && hooks->other_work(s)); ++i) {
        if (ready(arg)) {
            if (could_meet) k->turns.spun(from, sys::ticks(), core::ticks_per_us());
            return true;
        }
        if (i == 0) {
            could_meet = !c->home && hooks && hooks->keeps_woken && hooks->keeps_woken(s);
            if (could_meet && k->turns.ends()) return false;
            from = sys::ticks();
            most = ticks_to_spin(deadline);
        } else if (i % 16 == 15) {
            const std::uint64_t spun = sys::ticks() - from;
            if (spun > most || (s ? core::is_wanted_beyond(k, spun) : !core::may_spin())) break;
        }
        sys::cpu_relax();
    }
    return false;
}

// Stops the calling context, unless the condition holds, until it is taken from the list. Nothing stands on the stack
// between the waiter's own function and the switch: a return address that was pushed before is mispredicted after it.
inline void wait_list::block(waiting &w) noexcept {
    core::sched *s = w.who->on->current_sched;
    const core::sched_hooks *hooks = s->hooks;
    if (hooks && hooks->switch_to_other && hooks->switch_to_other(s, w.who, left_behind, &w)) return;
    core::pause(w.who, park, &w);
}

void wait_list::wait_once(waiting &w) noexcept {
    context *c = core::current_context();
    if (!c || !c->on->carried) [[unlikely]]
        return wait_outside(w);
    w.who = c;
    core::sched *s = c->on->current_sched;
    const core::sched_hooks *hooks = s->hooks;
    if (w.spins && !(hooks && hooks->other_work(s)) && spin(c, w.ready, w.arg, sys::no_deadline)) return;
    block(w);
}

// A thread outside Comity's schedulers sleeps in the kernel; without memory for its adoption it only lets time pass,
// and the caller looks again.
void wait_list::wait_outside(waiting &w) noexcept {
    const carrier *const k = core::adopt_if_possible();
    if (!k) return nap();
    w.who = k->current;
    if (!(w.spins && spin(w.who, w.ready, w.arg, sys::no_deadline)) && enqueue(w)) core::sleep_without_hart(w.who->on);
}

// No kernel thread is to be had that would wake anybody: the waiter looks again and again, and others run in between.
bool wait_list::poll(ready_fn ready, void *arg, std::int64_t deadline) noexcept {
    bool good = false;
    while (!(good = ready(arg)) && sys::now_ns() < deadline) {
        comity_thread_yield();
        sys::yield_kernel_thread();
    }
    return good;
}

// The deadline has passed before it began. Who looks again and again in this way must not keep the hart for ever.
bool wait_list::look_late(ready_fn ready, void *arg) noexcept {
    if (ready(arg)) return true;
    (void)core::let_others_run();
    return ready(arg);
}

bool wait_list::wait_with_deadline(ready_fn ready, void *arg, std::int64_t deadline, bool spins) noexcept {
    const carrier *const k = core::adopt_if_possible();
    if (!k) return look_until(ready, arg, deadline);
    context *c = k->current;
    if (spins && spin(c, ready, arg, deadline)) return true;
    if (sys::now_ns() >= deadline) return look_late(ready, arg);
    if (!c->on->carried) return wait_in_kernel(c, ready, arg, deadline);
    waiter own;
    waiter &place = place_for(c, own);
    place.deadline.at = deadline;
    place.deadline.expired = expire;
    if (!core::arm(place.deadline)) return poll(ready, arg, deadline);
    const bool good = block_in_place(place, ready, arg);
    core::cancel(place.deadline);
    return good || ready(arg);
}

waiter &wait_list::place_for(context *c, waiter &own) noexcept {
    waiter &place = c->home ? c->home->native_waiter : own;
    place.who = c;
    place.list = this;
    place.expired.store(false, std::memory_order_relaxed);
    return place;
}

// Until the condition holds (true) or the place's deadline has passed. Who was woken in vain may have been promoted
// since, and has no hart then.
bool wait_list::block_in_place(waiter &place, ready_fn ready, void *arg) noexcept {
    waiting w{place.who, this, ready, arg, &place, false};
    bool good = false;
    do place.who->on->carried ? block(w) : wait_outside(w);
    while (!(good = ready(arg)) && !place.expired.load(std::memory_order_relaxed));
    return good;
}

// ---- Waiting until the thread is cancelled

struct list_interruption : interruption {
    wait_list *list = nullptr;
    context *who = nullptr;
    waiter *place = nullptr; // null: it stands among the contexts
    static context *take_waiter(interruption *i) noexcept {
        const auto &own = *static_cast<list_interruption *>(i);
        return own.place ? own.list->take_out(*own.place, false) : own.list->take_out(own.who);
    }
};

// Somewhere among those without a deadline: a request looks through them, so that a wait need not be ready for one.
context *wait_list::take_out(context *c) noexcept {
    lock_.lock();
    const bool found = waiters_.remove(c);
    if (found) --count_;
    lock_.unlock();
    return found ? c : nullptr;
}

// To be called under the list's lock, or by the waiter: the request was made before the waiter's place was looked for.
struct ready_or_cancelled {
    bool (*ready)(void *) noexcept;
    void *arg;
    thread *self;
    bool held = false; // the condition, at the last look: somebody else may be faster afterwards
    static bool look(void *argument) noexcept {
        auto &own = *static_cast<ready_or_cancelled *>(argument);
        own.held = own.ready(own.arg);
        return own.held || is_cancelled(extension_of(own.self));
    }
};

// Whoever makes the request looks for the place after it, and the waiter, which is in its place or on its way there,
// for the request after that: one of the two sees the other.
void wait_list::block_until_cancelled(waiter &place, ready_or_cancelled &either, std::int64_t deadline) noexcept {
    place.deadline.at = deadline;
    place.deadline.expired = expire;
    if (!core::arm(place.deadline)) return static_cast<void>(poll(ready_or_cancelled::look, &either, deadline));
    list_interruption i;
    i.take = list_interruption::take_waiter;
    i.list = this;
    i.place = &place;
    announce_wait(either.self, i);
    block_in_place(place, ready_or_cancelled::look, &either); // the look, and the fence before it: enter()
    close_to_cancel(either.self);
    core::cancel(place.deadline);
}

// Inlined, as block is: each return address on the stack is one that is mispredicted.
[[gnu::always_inline]] inline void wait_list::block_until_cancelled(context *c, ready_or_cancelled &either) noexcept {
    list_interruption i;
    i.take = list_interruption::take_waiter;
    i.list = this;
    i.who = c;
    announce_wait(either.self, i);
    waiting w{c, this, ready_or_cancelled::look, &either, nullptr, false};
    do block(w); // the look, and the fence before it: enqueue()
    while (!ready_or_cancelled::look(&either));
    close_to_cancel(either.self);
}

wait_end wait_list::wait_open_to_cancel(ready_fn ready, void *arg, std::int64_t deadline, bool spins) noexcept {
    constexpr auto end_of = [](bool good) { return good ? wait_end::done : wait_end::late; };
    context *c = core::current_context();
    const bool on_hart = c && c->on->carried;
    if (spins && on_hart && spin(c, ready, arg, deadline)) return wait_end::done; // before anything that takes time
    ready_or_cancelled either{ready, arg, on_hart ? thread_to_interrupt(c) : nullptr};
    if (!either.self) {
        const bool not_yet = spins && !on_hart;
        if (deadline != sys::no_deadline) return end_of(wait_with_deadline(ready, arg, deadline, not_yet));
        waiting w{nullptr, this, ready, arg, nullptr, not_yet};
        do wait_once(w);
        while (!ready(arg));
        return wait_end::done;
    }
    if (deadline == sys::no_deadline) {
        block_until_cancelled(c, either);
        return either.held ? wait_end::done : wait_end::cancelled;
    }
    if (sys::now_ns() >= deadline) return end_of(look_late(ready, arg));
    waiter own;
    block_until_cancelled(place_for(c, own), either, deadline);
    if (either.held || ready(arg)) return wait_end::done;
    return is_cancelled(extension_of(either.self)) ? wait_end::cancelled : wait_end::late;
}

// A thread without a hart: the kernel's own deadline will do.
bool wait_list::wait_in_kernel(context *c, ready_fn ready, void *arg, std::int64_t deadline) noexcept {
    carrier *k = c->on;
    waiter &place = k->native_waiter;
    place.who = c;
    place.list = this;
    place.expired.store(false, std::memory_order_relaxed);
    while (!ready(arg)) {
        if (sys::now_ns() >= deadline) return ready(arg);
        if (!enter(place, ready, arg) || core::sleep_without_hart(k, deadline)) continue;
        if (!remove(place)) core::sleep_without_hart(k); // somebody has taken it out: his post is on its way
    }
    return true;
}

// On the transition context.
void wait_list::park(context *c, void *argument) {
    carrier *k = core::current_carrier();
    if (enqueue(*static_cast<waiting *>(argument))) core::block(k, c);
    core::resume(k, c);
}

// On the context that goes on instead.
void wait_list::left_behind(void *argument) {
    const waiting &w = *static_cast<waiting *>(argument);
    context *who = w.who;
    ++core::current_carrier()->count.blocks;
    if (!enqueue(w)) core::unblock(who);
}

// ---- Entering the list

// Enters the list unless the condition holds; the waiter is off its stack, so a waker may resume it as soon as the lock
// is free: nothing of `w` is read after that. The count is raised before the condition is looked at again, and the
// waker lowers it after making the condition true: one of the two sees the other (store, fence, load on both sides).
bool wait_list::enqueue(const waiting &w) noexcept {
    wait_list &l = *w.list;
    if (w.place) return l.enter(*w.place, w.ready, w.arg);
    context *who = w.who;
    l.lock_.lock();
    ++l.count_;
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list], and announce_wait's
    core::chaos_point();
    const bool wait = !w.ready(w.arg);
    if (wait)
        l.waiters_.push_back(who);
    else
        --l.count_;
    l.lock_.unlock();
    return wait;
}

bool wait_list::enter(waiter &w, ready_fn ready, void *arg) noexcept {
    lock_.lock();
    ++count_;
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list], and announce_wait's
    core::chaos_point();
    const bool wait = !w.expired.load(std::memory_order_relaxed) && !ready(arg);
    if (wait)
        link(w);
    else
        --count_;
    lock_.unlock();
    return wait;
}

void wait_list::link(waiter &w) noexcept {
    w.inside = true;
    if (!ring_) {
        ring_ = w.next = w.prev = &w;
        return;
    }
    w.next = ring_;
    w.prev = ring_->prev;
    w.prev->next = w.next->prev = &w;
}

void wait_list::unlink(waiter &w) noexcept {
    w.inside = false;
    --count_;
    if (w.next == &w) {
        ring_ = nullptr;
        return;
    }
    if (ring_ == &w) ring_ = w.next;
    w.prev->next = w.next;
    w.next->prev = w.prev;
}

// ---- Leaving it

bool wait_list::remove(waiter &w) noexcept {
    lock_.lock();
    const bool inside = w.inside;
    if (inside) unlink(w);
    lock_.unlock();
    return inside;
}

// The deadline has passed, on the timers' thread. If the waiter has not entered the list yet, it will not do so.
context *wait_list::expire(core::timer *t) noexcept {
    auto *w = reinterpret_cast<waiter *>(reinterpret_cast<char *>(t) - offsetof(waiter, deadline));
    return static_cast<wait_list *>(w->list)->take_out(*w, true);
}

context *wait_list::take_out(waiter &w, bool expired) noexcept {
    lock_.lock();
    if (expired) w.expired.store(true, std::memory_order_relaxed);
    context *who = w.inside ? w.who : nullptr;
    if (who) unlink(w);
    lock_.unlock();
    return who;
}

waiter *wait_list::take_all() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list]
    if (count_.get() == 0) return nullptr;
    waiter *calls = nullptr;
    lock_.lock();
    context *first = take_everybody(calls);
    lock_.unlock();
    core::unblock_all(first);
    return calls;
}

// Under the lock: the contexts, and beside them the callbacks, both linked.
context *wait_list::take_everybody(waiter *&calls) noexcept {
    core::context_list woken = waiters_.take_all();
    sys::linked_list<waiter> called;
    while (waiter *w = ring_) {
        unlink(*w);
        if (w->who)
            woken.push_back(w->who);
        else
            called.push_back(w);
    }
    count_.set(0);
    calls = called.first();
    return woken.first();
}

bool wait_list::has_contexts() noexcept {
    if (empty()) return false;
    lock_.lock();
    bool found = !waiters_.empty() || (ring_ && ring_->who);
    for (const waiter *w = ring_ ? ring_->next : nullptr; w != ring_ && !found; w = w->next) found = w->who;
    lock_.unlock();
    return found;
}

void wait_list::call_all(waiter *first) noexcept {
    while (waiter *w = first) {
        first = w->next;
        w->call(w);
    }
}

void wait_list::wake_all() noexcept { call_all(take_all()); }

void wait_list::wake_one() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list]
    if (count_.get() == 0) return;
    lock_.lock();
    context *c = take_one();
    lock_.unlock();
    if (c) core::unblock(c);
}

// Under the lock. Null: somebody was about to enter.
context *wait_list::take_one() noexcept {
    if (ring_ && (waiters_.empty() || ring_next_)) {
        context *c = ring_->who;
        unlink(*ring_);
        ring_next_ = false;
        return c;
    }
    context *c = waiters_.pop_front();
    if (c) {
        --count_;
        ring_next_ = true;
    }
    return c;
}

// Under the lock: up to n contexts, linked, of a list without callbacks.
context *wait_list::take(std::uint32_t n) noexcept {
    waiter *no_calls = nullptr;
    if (n == all) return take_everybody(no_calls);
    core::context_list woken;
    for (; n != 0; --n) {
        context *c = take_one();
        if (!c) break;
        woken.push_back(c);
    }
    return woken.first();
}

} // namespace comity::sync
