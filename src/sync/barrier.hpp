// A barrier, used again and again, whose number may change. Protocol "Barrier": README.md.
#pragma once

#include "sync/crowd.hpp"
#include "sync/leaving.hpp"
#include "sync/wait_list.hpp"
#include "sys/kernel_thread.hpp"

#include <atomic>
#include <cstddef>

namespace comity::sync {

class barrier {
public:
    static constexpr std::uint32_t most = (1U << 24) - 1;

    explicit barrier(std::uint32_t number) noexcept : state_(number * one_member) {}

    struct [[nodiscard]] arrival {
        bool valid;          // false: everybody has dropped out
        bool last;           // it opened the phase
        std::uint32_t phase; // to wait for the end of
    };
    // Never switches.
    arrival arrive() noexcept {
        const std::uint64_t s = state_.fetch_add(one_arrival, std::memory_order_acq_rel); // acq_rel[barrier-phase]
        std::uint32_t before = arrived_of(s), phase = phase_of(s);
        const std::uint32_t number = number_of(s);
        if (number == 0) return {false, false, phase};
        const bool in_turn = before < number; // else whoever fills a phase is about to raise it
        for (; before >= number; before -= number) ++phase;
        phase %= phases;
        if (before + 1 != number) return {true, false, phase};
        const auto inside = in_turn ? leaving_.enter_in_turn() : leaving_.enter();
        core::chaos_point();
        const std::uint64_t settles = one_phase - number;
        wake(phase_of(state_.fetch_add(settles, std::memory_order_acq_rel) + settles)); // acq_rel[barrier-phase]
        leaving_.leave(inside);
        return {true, true, phase};
    }
    // The same, and one less from the next phase on.
    arrival drop() noexcept {
        const auto inside = leaving_.enter();
        const std::uint64_t s = change([](std::uint64_t from) { return from - one_member; });
        const bool last = arrived_of(s) + 1 == number_of(s);
        leaving_.leave(inside);
        return {number_of(s) != 0, last, phase_of(s)};
    }
    // From now on `number` (1 to most) open it; if as many have arrived, it opens. Never switches.
    void resize(std::uint32_t number) noexcept {
        const auto inside = leaving_.enter();
        change([number](std::uint64_t from) { return (from & ~(field * one_member)) | number * one_member; });
        leaving_.leave(inside);
    }

    // Until the phase is over. May switch.
    void wait(std::uint32_t phase) noexcept {
        auto over = [this, phase]() noexcept { return is_over(phase); };
        core::context *c = core::current_context();
        if (!c || !c->on->carried) return waiters_.wait(over);
        // Where others can run it does not even look: that would take the state away from the next to arrive.
        if (!wait_list::spin_if_idle(c, over))
            crowds_[static_cast<unsigned>(c->on->carried->id) % crowds].wait(c, phase);
    }
    // The same; false: the deadline has passed, the arrival counts all the same.
    bool wait_until(std::uint32_t phase, std::int64_t deadline) noexcept {
        return waiters_.wait_until([this, phase]() noexcept { return is_over(phase); }, deadline);
    }
    void wait_until_left() const noexcept { leaving_.wait(); }
    bool is_waited_for() noexcept {
        bool found = waiters_.has_contexts();
        for (const crowd &c : crowds_) found = found || !c.empty();
        return found;
    }

private:
    // state_: arrivals in this phase, members, and the phase, which wraps. As many arrivals as members, or more: those
    // who filled phases are about to take them off again.
    static constexpr std::uint64_t field = most, one_arrival = 1, one_member = std::uint64_t{1} << 24,
                                   one_phase = std::uint64_t{1} << 48;
    static constexpr std::uint32_t phases = 1U << 16;
    static constexpr unsigned crowds = 2; // so that neighbouring harts do not meet there as well
    static std::uint32_t arrived_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s & field); }
    static std::uint32_t number_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s >> 24 & field); }
    static std::uint32_t phase_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s >> 48); }

    // A phase that has not begun is not over: one who comes after enough others, before they settle, is in such a one.
    bool is_over(std::uint32_t phase) const noexcept {
        const std::uint32_t now = phase_of(state_.load(std::memory_order_acquire)); // acquire[barrier-phase]
        return static_cast<std::int16_t>(now - phase) > 0;
    }
    // Gives the barrier another number, and opens it in the same step if so many have arrived. Returns the state
    // before. Nothing changes when there is no member.
    template <class Numbered> std::uint64_t change(Numbered numbered) noexcept {
        std::uint64_t s = state_.load(std::memory_order_relaxed), to = 0;
        do {
            if (number_of(s) == 0) return s;
            while (arrived_of(s) >= number_of(s)) { // until it is settled
                sys::yield_kernel_thread();
                s = state_.load(std::memory_order_relaxed);
            }
            to = numbered(s);
            if (arrived_of(to) >= number_of(to)) to += one_phase - arrived_of(to);
        } while (!state_.compare_exchange_weak(s, to, std::memory_order_acq_rel, // acq_rel[barrier-phase]
                                               std::memory_order_relaxed));
        if (phase_of(to) != phase_of(s)) wake(phase_of(to));
        return s;
    }
    void wake(std::uint32_t phase) noexcept {
        for (crowd &c : crowds_) c.open(phase);
        waiters_.wake_all_after_change();
    }

    std::atomic<std::uint64_t> state_;
    [[maybe_unused]] std::byte
        apart_[56]; // who waits reads the state again and again, while who opens has to do with the rest
    crowd crowds_[crowds];
    leaving_in_turn leaving_;
    wait_list waiters_; // those with a deadline, or without a hart
};

} // namespace comity::sync
