// A condition variable: a count of signals and those who wait for it to change. Protocol "Condition": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/mutex.hpp"
#include "sync/wait_list.hpp"

#include <atomic>
#include <cstddef>

namespace comity::sync {

class condition {
public:
    // The two halves of a wait, for a caller who has a lock of any kind: prepare while he holds it, then he gives it
    // away, then wait_prepared. Every signal after prepare ends the wait. prepare never switches, wait_prepared may.
    std::uint32_t prepare() const noexcept { return signals_.load(std::memory_order_relaxed); }
    wait_end wait_prepared(std::uint32_t seen, std::int64_t deadline) noexcept {
        return waiters_.wait_or_cancel(
            [this, seen]() noexcept { return signals_.load(std::memory_order_acquire) != seen; }, // acquire[condition]
            deadline);
    }
    // The caller holds the mutex, also afterwards. May switch.
    wait_end wait_until(mutex &m, std::int64_t deadline) noexcept {
        const std::uint32_t seen = prepare();
        m.unlock();
        const wait_end end = wait_prepared(seen, deadline);
        m.lock_soon_free(); // who signals mostly has it, and leaves it next
        return end;
    }
    // Never switch.
    void signal() noexcept {
        leaving_.enter();
        signals_.fetch_add(1, std::memory_order_release); // release[condition]
        waiters_.wake_one();
        leaving_.leave();
    }
    void broadcast() noexcept {
        leaving_.enter();
        signals_.fetch_add(1, std::memory_order_release); // release[condition]
        waiters_.wake_all();
        leaving_.leave();
    }
    void wait_until_left() const noexcept { leaving_.wait(); }

private:
    std::atomic<std::uint32_t> signals_{0};
    [[maybe_unused]] std::byte
        apart_[60]; // who waits reads the signals again and again, while who signals has to do with the rest
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
