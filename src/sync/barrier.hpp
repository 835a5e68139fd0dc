// A barrier for a fixed number, used again and again. Protocol "Barrier": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class barrier {
public:
    explicit barrier(std::uint32_t count) noexcept : count_(count) {}

    // True in the one that came last. May switch.
    bool wait() noexcept {
        const std::uint32_t phase = phase_.load(std::memory_order_relaxed);   // cannot change before this arrival
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) { // acq_rel[barrier-arrive]
            leaving_.enter();
            arrived_.store(0, std::memory_order_relaxed);
            phase_.store(phase + 1, std::memory_order_release); // release[barrier-phase]
            waiters_.wake_all();
            leaving_.leave();
            return true;
        }
        auto passed = [this, phase]() noexcept {
            return phase_.load(std::memory_order_acquire) != phase; // acquire[barrier-phase]
        };
        waiters_.wait(passed);
        return false;
    }
    void wait_until_left() const noexcept { leaving_.wait(); }

private:
    const std::uint32_t count_;
    std::atomic<std::uint32_t> arrived_{0}; // in this phase; set to zero by the last
    std::atomic<std::uint32_t> phase_{0};   // raised by the last
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
