// A counting semaphore. Protocol "Semaphore": README.md.
#pragma once

#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class semaphore {
public:
    static constexpr std::uint32_t most = INT32_MAX;

    explicit semaphore(std::uint32_t value) noexcept : state_(value) {}

    // Never switches.
    bool try_acquire() noexcept { return take(0); }
    // May switch.
    wait_end acquire_until(std::int64_t deadline) noexcept {
        auto some = [this]() noexcept { return value_of(state_.load(std::memory_order_relaxed)) != 0; };
        if (try_acquire() || (wait_list::spin_for(some, deadline) && try_acquire())) return wait_end::done;
        state_.fetch_add(one_waiter, std::memory_order_relaxed); // not while it spins: the releaser has less to do
        do {
            const wait_end end = waiters_.block_or_cancel(some, deadline);
            if (end != wait_end::done) {
                state_.fetch_sub(one_waiter, std::memory_order_relaxed);
                return end;
            }
        } while (!take(one_waiter));
        return wait_end::done;
    }
    // n more. Never switches. False: they would be more than `most`; nothing happened.
    bool release(std::uint32_t n) noexcept {
        std::uint64_t s = state_.load(std::memory_order_relaxed);
        while (s < one_waiter) {
            if (n > most - value_of(s)) return false;
            if (state_.compare_exchange_weak(s, s + n, std::memory_order_release, // release[semaphore]
                                             std::memory_order_relaxed))
                return true; // the last access
        }
        return waiters_.wake(n, [this, s, n]() mutable noexcept {
            do {
                if (n > most - value_of(s)) return false;
            } while (!state_.compare_exchange_weak(s, s + n, std::memory_order_release, // release[semaphore]
                                                   std::memory_order_relaxed));
            return true;
        });
    }
    std::uint32_t value() const noexcept { return value_of(state_.load(std::memory_order_relaxed)); }
    void wait_until_left() const noexcept { waiters_.wait_until_unlocked(); }
    bool is_waited_for() noexcept { return waiters_.has_contexts(); }

private:
    // state_: the value, and above it the number of those who wait or are about to.
    static constexpr std::uint64_t one_waiter = std::uint64_t{1} << 32;
    static std::uint32_t value_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s); }
    // Takes one, and takes the caller off the waiters.
    bool take(std::uint64_t off) noexcept {
        std::uint64_t s = state_.load(std::memory_order_relaxed);
        while (value_of(s) != 0)
            if (state_.compare_exchange_weak(s, s - 1 - off, std::memory_order_acquire, // acquire[semaphore]
                                             std::memory_order_relaxed))
                return true;
        return false;
    }

    std::atomic<std::uint64_t> state_;
    wait_list waiters_;
};

} // namespace comity::sync
