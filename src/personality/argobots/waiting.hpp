// Waiting for one wake-up, and queues of those who do: what the synchronisation objects, joins and sleeping schedulers
// are made of. Unlike sync::wait_list, a wake-up belongs to one waiter, in order of arrival, and none comes without
// one: Argobots promises both of a condition variable. Protocol "Waiting": README.md.
#pragma once

#include "core/context.hpp"
#include "core/spinlock.hpp"
#include "core/timer.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"

#include <atomic>
#include <cstdint>

namespace comity::abt {

using core::context;
using core::context_list;

enum class wake_up : std::uint8_t { signalled, timed_out };

class waiter {
public:
    // The calling context will wait. Any thread.
    void prepare() noexcept;
    // Returns when somebody has signalled. A ULT that waits lets its stream go on; a scheduler or tasklet stops its
    // stream, whose hart goes to another one; a kernel thread without a hart sleeps. May switch.
    void wait() noexcept;
    // The same, but a ULT too stops its stream.
    void wait_in_place() noexcept;
    // wait() until a deadline (now_ns).
    wake_up wait_until(std::int64_t deadline) noexcept;

    // Ends the wait, now or before it begins. False: it has been ended already. Returns the context that the caller
    // must then unblock in `c`, or null; the waiter may be gone. Any thread.
    [[nodiscard]] bool signal(context *&c) noexcept { return end(signalled_, c); }
    void signal_and_wake() noexcept;

    waiter *next = nullptr; // in a queue
    bool queued = false;    // under the queue's lock

private:
    static constexpr std::uint32_t idle_ = 0, parked_ = 1, signalled_ = 2, timed_out_ = 3;
    [[nodiscard]] bool end(std::uint32_t how, context *&c) noexcept;
    bool park() noexcept;
    void wait_in_kernel() noexcept;
    static void park_in_place(context *c, void *self);

    context *who_ = nullptr;
    std::atomic<std::uint32_t> word_{idle_}; // parked: by the waiter once it is saved; the others: by whoever ends it
    struct own_timer : core::timer {
        waiter *of = nullptr;
    } timer_;
    static context *expired(core::timer *t) noexcept;
};

// Waiters in order of arrival. Its lock is also that of the object that it belongs to.
class wait_queue {
public:
    core::spinlock lock;

    // All of these under the lock.
    bool empty() const noexcept { return waiters_.empty(); }
    waiter *first() const noexcept { return waiters_.first(); }
    void add(waiter &w) noexcept;
    void remove(waiter &w) noexcept;
    // Ends the wait of one or all; adds contexts that core::unblock_all must get after the lock to `woken`.
    void signal_one(context_list &woken) noexcept;
    void signal_all(context_list &woken) noexcept;

private:
    sys::linked_list<waiter> waiters_;
};

// ---- Sleeping for several pools at once

class sleepers;

// A waiter's place in one pool's list.
struct sleeper {
    waiter *w = nullptr;
    sleeper *next = nullptr, *prev = nullptr;
};

class sleepers {
public:
    void add(sleeper &p) noexcept;
    void remove(sleeper &p) noexcept;
    bool any() const noexcept { return count_.get() != 0; }
    // Wakes one, or all. Call after the pool was filled.
    void wake_one() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[abt-sleep]
        if (count_.get() != 0) wake(false);
    }
    void wake_all() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[abt-sleep]
        if (count_.get() != 0) wake(true);
    }

private:
    void wake(bool all) noexcept;
    core::spinlock lock_;
    sys::own_count<std::uint32_t> count_; // written under lock_
    sleeper *first_ = nullptr, *last_ = nullptr;
};

} // namespace comity::abt
