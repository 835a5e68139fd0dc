// When somebody has a turn whom those ahead of him in an order would keep waiting for ever, since they stop and go on
// for ever. README.md, "Depth-first", rule 10.
#pragma once

#include "core/runtime.hpp"
#include "sys/clock.hpp"

#include <cstdint>
#include <utility>

namespace comity::scheduler {

// So often, and at one in so many picks: few look at the clock.
constexpr std::uint64_t others_turn_us = 10'000;
constexpr unsigned picks_between_looks = 64;

// Under the policy's lock.
class others_turn {
public:
    // At each pick. True: it is theirs.
    bool has_come() noexcept {
        if (++picks_ % picks_between_looks != 0) return false;
        const std::uint64_t now = sys::ticks();
        if (now - last_ < others_turn_us * core::ticks_per_us()) return false;
        return std::exchange(last_, now) != 0;
    }

private:
    unsigned picks_ = 0;
    std::uint64_t last_ = 0; // ticks
};

} // namespace comity::scheduler
