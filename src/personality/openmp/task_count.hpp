// How many of a task's children (or of a group's tasks) are unfinished, without a lock: the rank that executes the
// task counts what is made and what finishes on it in plain words; the others add to one atomic word. Protocol and
// proof: README.md, "Counting tasks".
#pragma once

#include <atomic>
#include <cstdint>

#include "core/chaos.hpp"

namespace comity::openmp {

class task_count {
public:
    // What an addition from elsewhere brought about: the owner waits for it (he must be woken), or he has left and
    // nothing is outstanding any more (whoever brought it about is the last user).
    enum class effect { none, wakes_owner, was_last };

    // ---- The owner: who executes the task.

    void add() noexcept { ++made_; }
    void finish_here() noexcept { ++here_; }
    // How many are unfinished. Who sees 0 sees what they did.
    std::uint32_t left() const noexcept {
        return made_ - here_ - low(word_.load(std::memory_order_acquire)); // acquire[task-done]
    }
    // Nothing is unfinished, and nothing that is finished has unfinished children: nobody else will touch this.
    bool is_idle() const noexcept {
        // acquire[task-done]
        return word_.load(std::memory_order_acquire) == alive + std::int64_t{made_ - here_};
    }
    // As new. Only while idle, or when the last user has gone.
    void reset() noexcept {
        made_ = here_ = 0;
        word_.store(alive, std::memory_order_relaxed);
    }
    // From now on the word itself tells when all are finished: wait_over. In between the owner does nothing else here.
    void begin_wait() noexcept { word_.fetch_add(waits - outstanding(), std::memory_order_relaxed); }
    void end_wait() noexcept { word_.fetch_add(outstanding() - waits, std::memory_order_relaxed); }
    bool wait_over() const noexcept { return low(word_.load(std::memory_order_acquire)) == 0; } // acquire[task-done]
    // The owner goes. True: nothing is outstanding, and nobody else will touch this.
    bool leave() noexcept {
        const std::int64_t mine = alive + outstanding();
        core::chaos_point();
        return word_.fetch_sub(mine, std::memory_order_acq_rel) == mine; // acq_rel[task-done]
    }
    // After leave: is nothing outstanding any more?
    bool has_left_idle() const noexcept { return word_.load(std::memory_order_acquire) == 0; } // acquire[task-done]
    // Now and then, so that the word's halves do not run into each other: takes what has finished elsewhere over.
    void rebase_sometimes() noexcept {
        if (made_ % (1U << 28) == 0) [[unlikely]] {
            const std::uint32_t elsewhere = low(word_.load(std::memory_order_acquire)); // acquire[task-done]
            here_ += elsewhere;
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
    std::int64_t outstanding() const noexcept { return std::int64_t{made_ - here_}; }

    std::atomic<std::int64_t> word_{alive}; // anybody
    std::uint32_t made_ = 0, here_ = 0;     // the owner's
};

} // namespace comity::openmp
