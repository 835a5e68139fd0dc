// Lets an object be destroyed as soon as its condition holds, although those who made it true may still be inside,
// waking others.
#pragma once

#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"

#include <atomic>
#include <cstdint>

namespace comity::sync {

// Entered before the condition is made true, left with the last access to the object.
class leaving {
public:
    void enter() noexcept { inside_.fetch_add(1, std::memory_order_relaxed); }
    void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); } // release[sync-leave]
    // Nobody enters any more: waits until all have left.
    void wait() const noexcept {
        for (unsigned i = 1; inside_.load(std::memory_order_acquire) != 0; ++i) { // acquire[sync-leave]
            if (i % 256 == 0)
                sys::yield_kernel_thread(); // a few instructions of somebody who has lost his core
            else
                sys::cpu_relax();
        }
    }

private:
    std::atomic<std::uint32_t> inside_{0};
};

} // namespace comity::sync
