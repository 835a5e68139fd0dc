// Chaos: with COMITY_CHAOS=seed, random delays, give-aways of time slices and choices at the points where protocols
// could go wrong. Without it each point costs one predicted branch.
#pragma once

#include "sys/shared.hpp"

#include <atomic>
#include <cstdint>

namespace comity::core {

// Written once, at the start, which a thread's first use of a lock may bring about while others use theirs.
COMITY_SHARED extern std::atomic<bool> chaos_on;
[[gnu::always_inline]] inline bool is_chaos() noexcept { return chaos_on.load(std::memory_order_relaxed); }

COMITY_SHARED void chaos_delay() noexcept;
COMITY_SHARED std::uint32_t chaos_random() noexcept;

// A point in a protocol where anything may happen in between.
[[gnu::always_inline]] inline void chaos_point() noexcept {
    if (is_chaos()) [[unlikely]]
        chaos_delay();
}

// True once in n times under chaos; false without it.
inline bool chaos_chance(std::uint32_t n) noexcept { return is_chaos() && chaos_random() % n == 0; }

} // namespace comity::core
