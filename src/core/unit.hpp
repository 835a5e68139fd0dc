// Units: what can be run next. A scheduler picks them, a pool keeps them; what they are is known to whoever made them.
#pragma once

#include <atomic>
#include <cstdint>

namespace comity {

namespace core {
struct carrier;
}

// What an order that goes by who created whom knows of a unit; written under the lock of that order.
enum class tracking : std::uint8_t {
    none,
    told,       // the scheduler is told of its end
    positioned, // also, `next` is its position in the order
};

struct unit {
    // Runs the unit: on the carrier's transition context, in the scheduler that it was given to. Returns when it has
    // ended without ever having been stopped; else the hart comes back through the scheduler's block callback or
    // unit_hooks::next.
    void (*run)(unit *self, core::carrier *k) noexcept = nullptr;
    unit *next = nullptr; // link, for whoever holds it: a pool, a list of free ones
    // The higher, the sooner, in pools that go by it, each of which looks once, when the unit enters. Written by
    // anybody.
    std::atomic<std::uint8_t> priority{0};
    tracking tracked = tracking::none;
    [[nodiscard]] std::uint8_t rank() const noexcept { return priority.load(std::memory_order_relaxed); }
    void set_rank(std::uint8_t r) noexcept { priority.store(r, std::memory_order_relaxed); }
};

} // namespace comity
