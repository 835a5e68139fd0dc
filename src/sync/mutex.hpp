// A mutex without convoys and without starvation. Protocol "Mutex": README.md.
#pragma once

#include "sync/wait_list.hpp"
#include "sys/clock.hpp"

#include <atomic>
#include <cstdint>

namespace comity::sync {

class mutex {
public:
    // Any thread or context. May switch.
    void lock() noexcept {
        std::uint32_t s = 0;
        if (!state_.compare_exchange_strong(s, locked, std::memory_order_acquire,
                                            std::memory_order_relaxed)) // acquire[mutex]
            lock_contended(s);
    }
    // The same, when the holder is on another hart and expected to leave in a moment: looks at it closely, but not at
    // once, nor by taking the word away, which the holder mostly locks once more to wait itself.
    void lock_soon_free() noexcept {
        for (unsigned i = 0; i < 20; ++i) {
            sys::cpu_relax();
            if (try_lock()) return;
        }
        lock();
    }
    // The same until a deadline (sys::now_ns); false: it has passed, and the mutex is not the caller's.
    [[nodiscard]] bool lock_until(std::int64_t deadline) noexcept {
        return try_lock() || (sys::now_ns() < deadline ? lock_slow(deadline) : lock_late());
    }
    // The others never switch.
    bool try_lock() noexcept;
    void unlock() noexcept {
        std::uint32_t s = state_.load(std::memory_order_relaxed);
        if (owes_wake(s) || !state_.compare_exchange_strong(s, s & ~locked, std::memory_order_release,
                                                            std::memory_order_relaxed)) // release[mutex]
            unlock_slow();
    }
    bool is_locked() const noexcept { return state_.load(std::memory_order_relaxed) & locked; }
    void wait_until_left() const noexcept { waiters_.wait_until_unlocked(); }

private:
    // state_: three bits, and above them the number of waiters who have not been given a permit; while the mutex is
    // handed over, with the one who gets it.
    static constexpr std::uint32_t locked = 1, woken = 2, starving = 4, one_waiter = 8;
    static std::uint32_t waiters_of(std::uint32_t s) noexcept { return s / one_waiter; }

    // Must who unlocks it in this state give a permit, or complain?
    static bool owes_wake(std::uint32_t s) noexcept {
        return !(s & locked) || (s & starving) || (waiters_of(s) != 0 && !(s & woken));
    }
    // After a try that found the state s.
    void lock_contended(std::uint32_t s) noexcept {
        if ((s & (locked | starving)) || !state_.compare_exchange_strong(s, s | locked, std::memory_order_acquire,
                                                                         std::memory_order_relaxed)) // acquire[mutex]
            lock_slow(sys::no_deadline);
    }
    bool lock_slow(std::int64_t deadline) noexcept;
    bool lock_late() noexcept;
    bool lock_in_place(std::int64_t deadline) noexcept;
    bool take_from_successor() noexcept;
    void unlock_slow() noexcept;
    void spin(bool &awake) noexcept;
    bool wait_for_permit(std::int64_t deadline) noexcept;
    void take_over(bool impatient) noexcept;
    bool count_off() noexcept;

    std::atomic<std::uint32_t> state_{0};
    std::atomic<std::uint32_t> permits_{0}; // each lets one waiter go on; raised by unlock, lowered by the waiter
    wait_list waiters_;
};

} // namespace comity::sync
