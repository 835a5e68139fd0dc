// The word in which what ends and who waits for that meet. Protocol "Join": README.md.
#pragma once

#include "core/chaos.hpp"
#include "core/waiter.hpp"
#include "pool/unit.hpp"

#include <atomic>
#include <cstdint>

struct comity_thread;

namespace comity {

class end_word {
public:
    // Nobody waits and it has not ended; it has; somebody joins, and looks at the word again before he waits; nobody
    // will wait. Else: the context that waits.
    static constexpr std::uintptr_t open = 0, ended = 1, looked_at = 2, detached = 3;
    // Or-ed to a context: its scheduler keeps an order, in which it waits its turn.
    static constexpr std::uintptr_t in_turn = 4;
    // It was joined, and its descriptor is free: a handle that nobody should have any more.
    static constexpr std::uintptr_t freed = in_turn;
    // Or-ed to the place (core::waiter) of one who waits with a deadline: it never goes on at once.
    static constexpr std::uintptr_t timed = in_turn | 1;

    void begin(std::uintptr_t state) noexcept { word_.store(state, std::memory_order_relaxed); }
    std::uintptr_t get() const noexcept { return word_.load(std::memory_order_acquire); } // acquire[thread-end]
    // The waiter runs what it waits for itself, so that nobody else has to be told of the end.
    void take(const core::context *waiter) noexcept { begin(reinterpret_cast<std::uintptr_t>(waiter)); }

    // It has ended; returns what stood there. alone: on the only hart (unit_scheduler::alone). The last access, unless
    // that was `detached`.
    std::uintptr_t end(bool alone) noexcept {
        if (!alone) return word_.exchange(ended, std::memory_order_acq_rel); // acq_rel[thread-end]
        const std::uintptr_t before = word_.load(std::memory_order_relaxed); // only who holds the hart writes it
        word_.store(ended, std::memory_order_release);                       // release[thread-end]
        return before;
    }
    std::uintptr_t end(const void *) = delete; // is no bool
    // If a context waits and would be the next to run on this hart: it has ended, and the caller resumes that context.
    // Else null, and nothing is changed.
    core::context *end_for_waiter_here(const core::carrier *k, const unit_scheduler *s) noexcept {
        std::uintptr_t now = get();
        if (now <= detached || !may_go_on(now, k, s)) return nullptr;
        core::chaos_point();
        if (s->alone())
            word_.store(ended, std::memory_order_release); // as in end(): release[thread-end]
        else if (!word_.compare_exchange_strong(now, ended, std::memory_order_acq_rel, std::memory_order_relaxed))
            return nullptr; // a request to cancel who waits was faster; acq_rel[thread-end]
        return waiter_in(now);
    }
    // What end() returned: must somebody be told?
    static bool is_waited_for(std::uintptr_t word) noexcept { return word > detached; }
    // What end() returned, and somebody must be told: the context, and whether it may go on at once on this hart.
    static core::context *waiter_in(std::uintptr_t word) noexcept {
        return reinterpret_cast<core::context *>(word & ~in_turn);
    }
    static bool may_go_on(std::uintptr_t word, const core::carrier *k, const core::sched *s) noexcept {
        const core::context *waiter = waiter_in(word);
        return !(word & in_turn) && waiter->owner == s && (!waiter->home || waiter->home == k);
    }
    // The same word: makes who waits ready, or tells him.
    static void wake(std::uintptr_t word) noexcept;

    // Announces a joiner who will look again, and takes that back; false: something else stood there, so it has ended,
    // or somebody else joins it. The calling context holds a hart of `s`.
    bool begin_looking(const unit_scheduler *s) noexcept { return exchange_here(s, open, looked_at); }
    bool end_looking(const unit_scheduler *s) noexcept { return exchange_here(s, looked_at, open); }

    // Replaces `open`; false: something else stood there, in `before`. Any thread.
    bool replace_open(std::uintptr_t what, std::uintptr_t &before) noexcept {
        before = open;
        return replace(before, what);
    }
    // Returns when it has ended, or at once if somebody else waits; for a thread (`self`, or null) also when it is
    // cancelled, perhaps for nothing: the word is then open. Any thread, context. May switch.
    void wait(comity_thread *self = nullptr) noexcept;
    // The same, and until a deadline.
    void wait_until(std::int64_t deadline, comity_thread *self) noexcept;

private:
    bool exchange_here(const unit_scheduler *s, std::uintptr_t from, std::uintptr_t to) noexcept {
        if (!s->alone())
            return word_.compare_exchange_strong(from, to, std::memory_order_acq_rel); // acq_rel[thread-end]
        if (word_.load(std::memory_order_relaxed) != from) return false;               // as in end()
        word_.store(to, std::memory_order_relaxed);
        return true;
    }
    bool replace(std::uintptr_t &before, std::uintptr_t what) noexcept;
    bool spin(const core::carrier *k, std::int64_t deadline) const noexcept;
    void stop(core::context *c) noexcept;
    void sleep_until(core::waiter &place, std::int64_t deadline, comity_thread *self) noexcept;
    void poll(std::int64_t deadline) const noexcept;
    static void park(core::context *c, void *self);
    struct waiting {
        end_word *word;
        core::context *who;
    };
    static void left_behind(void *argument);
    friend struct join_interruption;

    std::atomic<std::uintptr_t> word_{open};
};

// Who waits, by what end() returned (neither open nor detached): the context if it can go on on this hart, and the
// caller resumes it; else it is made ready and the result is null.
inline core::context *waiter_for(std::uintptr_t before, const core::carrier *k, const core::sched *s) noexcept {
    core::context *waiter = end_word::waiter_in(before);
    if (end_word::may_go_on(before, k, s)) return waiter;
    end_word::wake(before);
    return nullptr;
}

} // namespace comity
