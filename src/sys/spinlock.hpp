// A lock for a few dozen instructions. Its holder never switches context; it may lose its core to another kernel
// thread.
#pragma once

#include "sys/backoff.hpp"

#include <atomic>

namespace comity::sys {

class spinlock {
public:
    void lock() noexcept {
        while (!try_lock())
            for (backoff b; held_.load(std::memory_order_relaxed);) b.pause();
    }
    bool try_lock() noexcept {
        return !held_.load(std::memory_order_relaxed) &&
               !held_.exchange(true, std::memory_order_acquire); // acquire[spinlock]
    }
    // Until nobody holds it.
    void wait() const noexcept {
        for (backoff b; held_.load(std::memory_order_acquire);) b.pause(); // acquire[spinlock]
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); } // release[spinlock]

private:
    std::atomic<bool> held_{false}; // written by whoever takes or leaves the lock
};

} // namespace comity::sys
