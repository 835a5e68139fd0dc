// A barrier, used again and again, whose number may change. Protocol "Barrier": README.md.
#pragma once

#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace comity::sync {

class barrier {
public:
    static constexpr std::uint32_t most = (1U << 24) - 1;

    explicit barrier(std::uint32_t number) noexcept : state_(number * one_member) {}

    struct [[nodiscard]] arrival {
        bool valid;          // false: everybody has arrived already, or there is nobody left
        bool last;           // it opened the phase
        std::uint32_t phase; // to wait for the end of
    };
    // Never switches.
    arrival arrive() noexcept { return change(one_arrival); }
    // The same, and one less from the next phase on.
    arrival drop() noexcept { return change(-one_member); }

    // Until the phase is over. May switch. False: the deadline has passed; the arrival counts all the same.
    bool wait_until(std::uint32_t phase, std::int64_t deadline) noexcept {
        auto over = [this, phase]() noexcept {
            return phase_of(state_.load(std::memory_order_acquire)) != phase; // acquire[barrier-phase]
        };
        return waiters_.wait_until(over, deadline);
    }

    // From now on `number` (1 to most) open it; if as many have arrived, it opens. Never switches.
    void resize(std::uint32_t number) noexcept {
        leaving_.enter();
        std::uint64_t s = state_.load(std::memory_order_relaxed), to = 0;
        do to = settled((s & ~(field * one_member)) | number * one_member);
        while (!state_.compare_exchange_weak(s, to, std::memory_order_acq_rel, // acq_rel[barrier-phase]
                                             std::memory_order_relaxed));
        if (phase_of(to) != phase_of(s)) waiters_.wake_all();
        leaving_.leave();
    }
    std::uint32_t number() const noexcept { return number_of(state_.load(std::memory_order_relaxed)); }
    void wait_until_left() const noexcept { leaving_.wait(); }

private:
    // state_: arrivals in this phase, members, and the phase, which wraps.
    static constexpr std::uint64_t field = most, one_arrival = 1, one_member = std::uint64_t{1} << 24,
                                   one_phase = std::uint64_t{1} << 48;
    static std::uint32_t arrived_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s & field); }
    static std::uint32_t number_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s >> 24 & field); }
    static std::uint32_t phase_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s >> 48); }
    // The state that follows at once: if everybody has arrived, the next phase, and nobody has.
    static std::uint64_t settled(std::uint64_t s) noexcept {
        return arrived_of(s) < number_of(s) ? s : s - arrived_of(s) + one_phase;
    }
    // An arrival, or a member less. Who opens the phase enters `leaving_` before, all others leave with their change.
    arrival change(std::uint64_t by) noexcept {
        std::uint64_t s = state_.load(std::memory_order_relaxed);
        for (;;) {
            if (number_of(s) == 0) return {false, false, phase_of(s)};
            const std::uint64_t to = settled(s + by);
            const bool last = phase_of(to) != phase_of(s);
            if (last) leaving_.enter();
            if (state_.compare_exchange_weak(s, to, std::memory_order_acq_rel, // acq_rel[barrier-phase]
                                             std::memory_order_relaxed)) {
                const arrival done{true, last, phase_of(s)};
                if (!last) return done;
                waiters_.wake_all();
                leaving_.leave();
                return done;
            }
            if (last) leaving_.leave();
        }
    }

    std::atomic<std::uint64_t> state_;
    leaving leaving_;
    wait_list waiters_;
};

} // namespace comity::sync
