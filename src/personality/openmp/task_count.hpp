// How many of a task's children (or of a group's tasks) are unfinished, without a lock: the rank that executes the
// task counts what is made and what finishes on it in plain words; the others add to one atomic word. Protocol and
// proof: README.md, "Counting tasks".
#pragma once

#include <atomic>
#include <cstdint>

#include "core/chaos.hpp"

namespace comity::openmp {

// What the owner knows by himself: who executes the task. Apart from task_count, so that the others' additions do not
// take the line from him.
struct owner_count {
    std::uint32_t made = 0, here = 0; // children that were made, and those that finished on the owner's rank
};

class task_count {
public:
    // What an addition from elsewhere brought about: the owner waits for it (he must be woken), or he has left and
    // nothing is outstanding any more (whoever brought it about is the last user).
    enum class effect { none, wakes_owner, was_last };

    // ---- The owner, with what he knows.

    // How many are unfinished. Who sees 0 sees what they did.
    std::uint32_t left(owner_count mine) const noexcept {
        return mine.made - mine.here - low(word_.load(std::memory_order_acquire)); // acquire[task-done]
    }
    // Nothing is unfinished, and nothing that is finished has unfinished children: nobody else will touch this.
    bool is_idle(owner_count mine) const noexcept {
        return word_.load(std::memory_order_acquire) == alive + outstanding(mine); // acquire[task-done]
    }
    // As new. Only while idle, or when the last user has gone.
    void reset() noexcept { word_.store(alive, std::memory_order_relaxed); }
    // From now on the word itself tells when all are finished: wait_over. In between the owner does nothing else here.
    void begin_wait(owner_count mine) noexcept {
        word_.fetch_add(waits - outstanding(mine), std::memory_order_relaxed);
    }
    void end_wait(owner_count mine) noexcept { word_.fetch_add(outstanding(mine) - waits, std::memory_order_relaxed); }
    bool wait_over() const noexcept { return low(word_.load(std::memory_order_acquire)) == 0; } // acquire[task-done]
    // The owner goes. True: nothing is outstanding, and nobody else will touch this.
    bool leave(owner_count mine) noexcept {
        core::chaos_point();
        const std::int64_t all = alive + outstanding(mine);
        return word_.fetch_sub(all, std::memory_order_acq_rel) == all; // acq_rel[task-done]
    }
    // After leave: is nothing outstanding any more?
    bool has_left_idle() const noexcept { return word_.load(std::memory_order_acquire) == 0; } // acquire[task-done]
    // Now and then, so that the word's halves do not run into each other: takes what has finished elsewhere over.
    void rebase_sometimes(owner_count &mine) noexcept {
        if (mine.made % (1U << 28) == 0) [[unlikely]] {
            const std::uint32_t elsewhere = low(word_.load(std::memory_order_acquire)); // acquire[task-done]
            mine.here += elsewhere;
            word_.fetch_sub(elsewhere, std::memory_order_relaxed);
        }
    }

    // ---- Anybody.

    // One has finished. `keeps`: its own children have not, so it stays: drop_kept will be called.
    effect finish_elsewhere(bool keeps) noexcept {
        core::chaos_point();
        const std::int64_t plus = keeps ? 1 + kept : 1;
        const std::int64_t now = word_.fetch_add(plus, std::memory_order_acq_rel) + plus; // acq_rel[task-done]
        if (now == 0) return effect::was_last;
        return (now & waits) && low(now) == 0 ? effect::wakes_owner : effect::none;
    }
    void keep() noexcept { word_.fetch_add(kept, std::memory_order_relaxed); }
    // True: that was the last user.
    bool drop_kept() noexcept {
        core::chaos_point();
        return word_.fetch_sub(kept, std::memory_order_acq_rel) == kept; // acq_rel[task-done]
    }

private:
    // The word: how many have finished elsewhere, less what the owner has subtracted when he went or waits; plus these.
    static constexpr std::int64_t kept = std::int64_t{1} << 32; // for each that is kept
    static constexpr std::int64_t waits = std::int64_t{1} << 60, alive = std::int64_t{1} << 61;

    static std::uint32_t low(std::int64_t word) noexcept { return static_cast<std::uint32_t>(word); }
    static std::int64_t outstanding(owner_count mine) noexcept { return std::int64_t{mine.made - mine.here}; }

    std::atomic<std::int64_t> word_{alive}; // anybody
};

} // namespace comity::openmp
