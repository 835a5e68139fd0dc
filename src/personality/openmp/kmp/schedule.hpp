// The compiler's numbers for schedules.
#pragma once

#include "personality/openmp/kmp/abi.hpp"

namespace comity::openmp::kmp {

enum schedule_number : i32 {
    static_chunked = 33,
    static_plain = 34,
    dynamic_chunked = 35,
    guided_chunked = 36,
    at_run_time = 37,
    automatic = 38,
    trapezoidal = 39,
    static_greedy = 40,
    static_balanced = 41,
    guided_iterative = 42,
    guided_analytical = 43,
    static_steal = 44,
    static_balanced_chunked = 45, // blocks that are a multiple of the chunk
    guided_simd = 46,
    at_run_time_simd = 47,
    // The same numbers 32 higher: with an ordered region in the loop. 128 higher still: one chunk at a time even for
    // one rank.
    ordered_static_chunked = 65,
    distribute_static_chunked = 91,
    distribute_static = 92,
};
inline constexpr i32 ordered_offset = 32, no_merge_offset = 128;
inline constexpr i32 schedule_modifiers = 1 << 29 | 1 << 30; // monotonic, nonmonotonic

} // namespace comity::openmp::kmp
