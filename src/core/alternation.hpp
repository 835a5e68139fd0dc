// Do those who wait on a hart merely take turns with somebody on another one? Who waits spins, so that it goes on soon.
// Two threads that do little between their waits then pay the way of cache lines from core to core for each turn, while
// either core mostly spins; on one hart they would change over in the time of a switch. So a hart whose waits have been
// longer than what lay between them, and all brief, should let the next waiter block: who wakes it has it on his own
// hart then, and there they stay.
#pragma once

#include <cstdint>

namespace comity::core {

// Of one hart's carrier, which alone calls it. All in ticks.
class alternation {
public:
    // Somebody has spun from `from` to `to`, and the condition held then. `brief`: so long may a turn be, from the end
    // of one spin to the next.
    void spun(std::uint64_t from, std::uint64_t to, std::uint64_t brief) noexcept {
        const std::uint64_t worked = from - last_end_, waited = to - from;
        last_end_ = to;
        turns_ = waited >= worked && waited + worked <= brief ? turns_ + 1 : 0;
    }
    // Should the next waiter block at once? The one after it may spin again.
    bool ends() noexcept {
        if (turns_ < enough) return false;
        turns_ = 0;
        return true;
    }

private:
    static constexpr unsigned enough = 8; // in a row
    std::uint64_t last_end_ = 0;
    unsigned turns_ = 0;
};

} // namespace comity::core
