// An event: set until it is reset. Protocol "Event": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class event {
public:
    // Never switch.
    void set() noexcept {
        leaving_.enter();
        set_.store(true, std::memory_order_release); // release[event]
        waiters_.wake_all();
        leaving_.leave();
    }
    void reset() noexcept { set_.store(false, std::memory_order_relaxed); }
    bool is_set() const noexcept { return set_.load(std::memory_order_acquire); } // acquire[event]
    // May switch.
    void wait() noexcept {
        waiters_.wait([this]() noexcept { return is_set(); });
    }
    void wait_until_left() const noexcept { leaving_.wait(); }

private:
    std::atomic<bool> set_{false};
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
