#include "sync/rwlock.hpp"

#include "core/chaos.hpp"

namespace comity::sync {

// ---- Writers

bool rwlock::lock_slow(std::int64_t deadline) noexcept {
    std::uint64_t s = state_.load(std::memory_order_relaxed);
    for (;;) { // in, or among those who wait
        const bool free = (s & ~turn) == 0;
        const std::uint64_t to = free ? s | writing : s + one_waiting_writer;
        if (!state_.compare_exchange_weak(s, to, std::memory_order_acquire, // acquire[rwlock]
                                          std::memory_order_relaxed))
            continue;
        if (free) return true;
        break;
    }
    core::chaos_point();
    if (wait_for_permit(deadline)) return true;
    return !writer_gives_up() && wait_for_permit(sys::no_deadline);
}

bool rwlock::wait_for_permit(std::int64_t deadline) noexcept {
    for (;;) {
        if (!writers_.wait_until([this]() noexcept { return permits_.load(std::memory_order_relaxed) != 0; }, deadline))
            return false;
        std::uint32_t n = permits_.load(std::memory_order_relaxed);
        if (n != 0 && permits_.compare_exchange_strong(n, n - 1, std::memory_order_acquire, // acquire[rwlock-permit]
                                                       std::memory_order_relaxed))
            return true;
    }
}

// A waiting writer whose deadline has passed. False: a permit has been or is being given for each who is left, so it
// must take its own. Somebody is inside, and lets the readers in when he leaves, whom this writer may have kept out.
bool rwlock::writer_gives_up() noexcept {
    std::uint64_t s = state_.load(std::memory_order_relaxed);
    while (waiting_writers_of(s) != 0) {
        core::chaos_point();
        if (state_.compare_exchange_weak(s, s - one_waiting_writer, std::memory_order_relaxed)) return true;
    }
    return false;
}

bool rwlock::unlock() noexcept {
    for (;;) {
        const std::uint64_t s = state_.load(std::memory_order_relaxed);
        if (!(s & writing)) return false;
        const bool hands_over = waiting_readers_of(s) == 0 && waiting_writers_of(s) != 0;
        const std::uint64_t to = hands_over ? s - one_waiting_writer : let_readers_in(s & ~writing);
        if (change(s, to, hands_over)) return true;
    }
}

// ---- Readers

bool rwlock::lock_shared_slow(std::int64_t deadline) noexcept {
    std::uint64_t s = state_.load(std::memory_order_relaxed);
    for (;;) {
        const bool free = admits_reader(s);
        if (!state_.compare_exchange_weak(s, s + (free ? one_reader : one_waiting_reader),
                                          std::memory_order_acquire, // acquire[rwlock]
                                          std::memory_order_relaxed))
            continue;
        if (free) return true;
        break;
    }
    core::chaos_point();
    // Who waits is let in with all the others by one change of `turn`, and none can follow before all are out again.
    const std::uint64_t since = s & turn;
    auto let_in = [this, since]() noexcept {
        return (state_.load(std::memory_order_acquire) & turn) != since; // acquire[rwlock]
    };
    return readers_.wait_until(let_in, deadline) || !reader_gives_up(since);
}

// False: it has been let in.
bool rwlock::reader_gives_up(std::uint64_t since) noexcept {
    std::uint64_t s = state_.load(std::memory_order_acquire); // acquire[rwlock]
    while ((s & turn) == since)
        if (state_.compare_exchange_weak(s, s - one_waiting_reader, std::memory_order_acquire)) // acquire[rwlock]
            return true;
    return false;
}

bool rwlock::unlock_shared() noexcept {
    for (;;) {
        const std::uint64_t s = state_.load(std::memory_order_relaxed);
        if (readers_of(s) == 0) return false;
        std::uint64_t to = s - one_reader;
        const bool last = readers_of(to) == 0, hands_over = last && waiting_writers_of(to) != 0;
        if (hands_over)
            to = (to - one_waiting_writer) | writing;
        else if (last)
            to = let_readers_in(to);
        if (change(s, to, hands_over)) return true;
    }
}

// One step of the state, and the waking of those whom it lets in. False: the state is not s any more.
bool rwlock::change(std::uint64_t s, std::uint64_t to, bool hands_over) noexcept {
    const bool readers = (s ^ to) & turn, wakes = readers || hands_over;
    if (wakes) leaving_.enter(); // else the change is the last access
    core::chaos_point();
    const bool done = state_.compare_exchange_strong(s, to, std::memory_order_acq_rel, // acq_rel[rwlock]
                                                     std::memory_order_relaxed);
    if (done && readers) readers_.wake_all_after_change();
    if (done && hands_over) {
        permits_.fetch_add(1, std::memory_order_release); // release[rwlock-permit]
        writers_.wake_one();
    }
    if (wakes) leaving_.leave();
    return done;
}

} // namespace comity::sync
