// An event: set until it is reset. Contexts wait for it, and callbacks. Protocol "Event": README.md.
#pragma once

#include "comity/thread/without_cancellation.hpp"
#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class event {
public:
    // Runs the callbacks, and does nothing else that could switch. They may destroy the event.
    void set() noexcept {
        leaving_.enter();
        set_.store(true, std::memory_order_release); // release[event]
        core::waiter *calls = waiters_.take_all();
        leaving_.leave();
        if (calls) run(calls);
    }
    void reset() noexcept { set_.store(false, std::memory_order_relaxed); }
    bool is_set() const noexcept { return set_.load(std::memory_order_acquire); } // acquire[event]
    // May switch.
    wait_end wait_until(std::int64_t deadline) noexcept {
        return waiters_.wait_or_cancel([this]() noexcept { return is_set(); }, deadline);
    }
    // The next set calls w.call(&w). False: it is set. Never switches.
    bool call_when_set(core::waiter &w) noexcept {
        return waiters_.add(w, [this]() noexcept { return is_set(); });
    }
    // False: a set has taken it, and calls it or has. Never switches.
    bool forget(core::waiter &w) noexcept { return waiters_.remove(w); }
    void wait_until_left() const noexcept { leaving_.wait(); }
    bool is_waited_for() noexcept { return waiters_.has_contexts(); }

private:
    // A callback that was cancelled would also keep those that come after it from being called.
    [[gnu::noinline]] static void run(core::waiter *calls) noexcept {
        const detail::without_cancellation meanwhile;
        wait_list::call_all(calls);
    }
    std::atomic<bool> set_{false};
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
