// A condition variable: a count of signals and those who wait for it to change. Protocol "Condition": README.md.
#pragma once

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
        return waiters_.wait_or_cancel(changed{signals_, seen}, deadline);
    }
    // The caller holds the mutex, also afterwards. May switch.
    wait_end wait_until(mutex &m, std::int64_t deadline) noexcept {
        changed signalled{signals_, prepare()};
        m.unlock();
        if (wait_list::spin_for(signalled, deadline)) {
            m.lock_soon_free(); // who signals mostly has it, and leaves it next
            return wait_end::done;
        }
        const wait_end end = waiters_.block_or_cancel(signalled, deadline);
        m.lock();
        return end;
    }
    // Never switch.
    void signal() noexcept { signal(1); }
    void broadcast() noexcept { signal(wait_list::all); }
    void wait_until_left() const noexcept { waiters_.wait_until_unlocked(); }
    bool is_waited_for() noexcept { return waiters_.has_contexts(); }

private:
    struct changed {
        const std::atomic<std::uint32_t> &signals;
        std::uint32_t seen;
        bool operator()() const noexcept {
            return signals.load(std::memory_order_acquire) != seen; // acquire[condition]
        }
    };
    void signal(std::uint32_t n) noexcept {
        waiters_.wake(n, [this]() noexcept {
            signals_.store(signals_.load(std::memory_order_relaxed) + 1,
                           std::memory_order_release); // release[condition]
            return true;
        });
    }

    std::atomic<std::uint32_t> signals_{0}; // written under the list's lock
    [[maybe_unused]] std::byte
        apart_[60]; // who waits reads the signals again and again, while who signals has to do with the rest
    wait_list waiters_;
};

} // namespace comity::sync
