// Something to be done once: by the first who comes, or after it failed by another. Protocol "Once": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class once {
public:
    // True: the caller has to do it, and then to call end. False: it has been done. May switch.
    bool begin() noexcept {
        std::uint32_t s = state_.load(std::memory_order_acquire); // acquire[once]
        while (s != done) {
            if (s == not_done) {
                if (state_.compare_exchange_strong(s, under_way, std::memory_order_acquire)) // acquire[once]
                    return true;
                continue;
            }
            waiters_.wait([this]() noexcept { return state_.load(std::memory_order_relaxed) != under_way; });
            s = state_.load(std::memory_order_acquire); // acquire[once]
        }
        return false;
    }
    // succeeded: it has been done; else somebody else shall try. Never switches.
    void end(bool succeeded) noexcept {
        leaving_.enter();
        state_.store(succeeded ? done : not_done, std::memory_order_release); // release[once]
        waiters_.wake_all();
        leaving_.leave();
    }
    bool is_under_way() const noexcept { return state_.load(std::memory_order_relaxed) == under_way; }
    void wait_until_left() const noexcept { leaving_.wait(); }

private:
    static constexpr std::uint32_t not_done = 0, under_way = 1, done = 2;
    std::atomic<std::uint32_t> state_{not_done};
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
