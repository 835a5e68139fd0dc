// A readers-writer lock under which neither side starves. Protocol "Readers-writer lock": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"

#include <atomic>
#include <cstdint>

namespace comity::sync {

class rwlock {
public:
    // Never switch.
    bool try_lock() noexcept {
        std::uint64_t free = state_.load(std::memory_order_relaxed) & turn; // nobody inside, nobody waits
        return state_.compare_exchange_strong(free, free | writing, std::memory_order_acquire, // acquire[rwlock]
                                              std::memory_order_relaxed);
    }
    bool try_lock_shared() noexcept {
        std::uint64_t s = state_.load(std::memory_order_relaxed);
        while (admits_reader(s))
            if (state_.compare_exchange_weak(s, s + one_reader, std::memory_order_acquire, // acquire[rwlock]
                                             std::memory_order_relaxed))
                return true;
        return false;
    }
    // May switch. False: the deadline has passed, and nothing is locked.
    bool lock_until(std::int64_t deadline) noexcept { return try_lock() || lock_slow(deadline); }
    bool lock_shared_until(std::int64_t deadline) noexcept { return try_lock_shared() || lock_shared_slow(deadline); }

    // Never switch. False: it was not locked so, and nothing happened.
    [[nodiscard]] bool unlock() noexcept;
    [[nodiscard]] bool unlock_shared() noexcept;

    bool is_locked() const noexcept {
        const std::uint64_t s = state_.load(std::memory_order_relaxed);
        return (s & writing) || readers_of(s) != 0;
    }
    void wait_until_left() const noexcept { leaving_.wait(); }

private:
    // state_: readers inside, waiting readers, waiting writers (20 bits each: a million), and:
    static constexpr std::uint64_t field = (std::uint64_t{1} << 20) - 1, one_reader = 1,
                                   one_waiting_reader = std::uint64_t{1} << 20,
                                   one_waiting_writer = std::uint64_t{1} << 40,
                                   writing = std::uint64_t{1} << 60, // a writer is inside, or is being let in
        turn = std::uint64_t{1} << 61;                               // changes when the waiting readers are let in
    static std::uint64_t readers_of(std::uint64_t s) noexcept { return s & field; }
    static std::uint64_t waiting_readers_of(std::uint64_t s) noexcept { return s >> 20 & field; }
    static std::uint64_t waiting_writers_of(std::uint64_t s) noexcept { return s >> 40 & field; }
    static bool admits_reader(std::uint64_t s) noexcept { return (s & ~(field * one_reader | turn)) == 0; }
    // All who wait; when nobody is inside.
    static std::uint64_t let_readers_in(std::uint64_t s) noexcept {
        const std::uint64_t n = waiting_readers_of(s);
        return n == 0 ? s : (s + n * one_reader - n * one_waiting_reader) ^ turn;
    }

    bool lock_slow(std::int64_t deadline) noexcept;
    bool lock_shared_slow(std::int64_t deadline) noexcept;
    bool writer_gives_up() noexcept;
    bool reader_gives_up(std::uint64_t since) noexcept;
    bool wait_for_permit(std::int64_t deadline) noexcept;
    bool change(std::uint64_t s, std::uint64_t to, bool hands_over) noexcept;

    std::atomic<std::uint64_t> state_{0};
    std::atomic<std::uint32_t> permits_{0}; // lets one waiting writer in; raised by who leaves, lowered by the writer
    leaving leaving_;
    wait_list readers_, writers_;
};

} // namespace comity::sync
