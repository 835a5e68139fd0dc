// Chaos: with COMITY_CHAOS=seed, random delays, give-aways of time slices and choices at the points where protocols
// could go wrong. Without it each point costs one predicted branch.
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::core {

COMITY_SHARED extern bool chaos_on; // written once, at start

COMITY_SHARED void chaos_delay() noexcept;
COMITY_SHARED std::uint32_t chaos_random() noexcept;

// A point in a protocol where anything may happen in between.
inline void chaos_point() noexcept {
    if (chaos_on) [[unlikely]]
        chaos_delay();
}

// True once in n times under chaos; false without it.
inline bool chaos_chance(std::uint32_t n) noexcept { return chaos_on && chaos_random() % n == 0; }

} // namespace comity::core
