// Lets an object be destroyed as soon as its condition holds, although those who made it true may still be inside,
// waking others.
#pragma once

#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"

#include <atomic>
#include <cstdint>

namespace comity::sync {

// Entered before the condition is made true, left with the last access to the object.
class leaving {
public:
    void enter() noexcept { inside_.fetch_add(1, std::memory_order_relaxed); }
    void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); } // release[sync-leave]
    // Nobody enters any more: waits until all have left.
    void wait() const noexcept { await_zero(inside_); }
    template <class Word> static void await_zero(const std::atomic<Word> &word) noexcept {
        for (unsigned i = 1; word.load(std::memory_order_acquire) != Word{}; ++i) { // acquire[sync-leave]
            if (i % 256 == 0)
                sys::yield_kernel_thread(); // a few instructions of somebody who has lost his core
            else
                sys::cpu_relax();
        }
    }

private:
    std::atomic<std::uint32_t> inside_{0};
};

// The same where most enter one after the other, each after the last one has made his condition true, and has seen
// that: who does so *in turn* writes a word of his own meanwhile, if the one before him has left it.
class leaving_in_turn {
public:
    class [[nodiscard]] ticket {
        friend class leaving_in_turn;
        explicit ticket(bool alone) noexcept : alone_(alone) {}
        bool alone_;
    };
    ticket enter() noexcept {
        rest_.enter();
        return ticket(false);
    }
    ticket enter_in_turn() noexcept {
        if (taken_.load(std::memory_order_relaxed)) return enter();
        taken_.store(true, std::memory_order_relaxed);
        return ticket(true);
    }
    void leave(ticket p) noexcept {
        if (p.alone_)
            taken_.store(false, std::memory_order_release); // release[sync-leave]
        else
            rest_.leave();
    }
    void wait() const noexcept {
        leaving::await_zero(taken_);
        rest_.wait();
    }

private:
    std::atomic<bool> taken_{false};
    leaving rest_;
};

} // namespace comity::sync
