// A condition variable: a count of signals and those who wait for it to change. Protocol "Condition": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/mutex.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class condition {
public:
    // The caller holds the mutex. May switch.
    void wait(mutex &m) noexcept {
        const std::uint32_t seen = signals_.load(std::memory_order_relaxed);
        m.unlock();
        waiters_.wait(
            [this, seen]() noexcept { return signals_.load(std::memory_order_acquire) != seen; }); // acquire[condition]
        m.lock();
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
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
