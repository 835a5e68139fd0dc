// A latch: opens when it has been counted down to zero, and stays open. Protocol "Latch": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class latch {
public:
    explicit latch(std::uint32_t count) noexcept : count_(count) {}

    // Never switches. False: n is more than is left; nothing happened.
    bool count_down(std::uint32_t n) noexcept {
        std::uint32_t left = count_.load(std::memory_order_relaxed);
        for (;;) {
            if (n > left) return false;
            const bool opens = n == left && n != 0;
            if (opens) leaving_.enter(); // else the change is the last access
            const bool done = count_.compare_exchange_weak(left, left - n, std::memory_order_acq_rel, // acq_rel[latch]
                                                           std::memory_order_relaxed);
            if (done && opens) waiters_.wake_all_after_change();
            if (opens) leaving_.leave();
            if (done) return true;
        }
    }
    bool is_open() const noexcept { return count_.load(std::memory_order_acquire) == 0; } // acquire[latch]
    // May switch.
    wait_end wait_until(std::int64_t deadline) noexcept {
        return waiters_.wait_or_cancel([this]() noexcept { return is_open(); }, deadline);
    }
    void wait_until_left() const noexcept { leaving_.wait(); }
    bool is_waited_for() noexcept { return waiters_.has_contexts(); }

private:
    std::atomic<std::uint32_t> count_;
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
