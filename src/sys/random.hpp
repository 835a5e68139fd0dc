// Numbers that look random, for choices on which nothing rests. Any thread; nothing switches.
#pragma once

#include "sys/clock.hpp"

#include <cstdint>

namespace comity::sys {

// splitmix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014): the state goes on by the
// step, and each state, mixed, is a number.
inline constexpr std::uint64_t random_step = 0x9e3779b97f4a7c15;
constexpr std::uint64_t mix(std::uint64_t state) noexcept {
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    return state ^ (state >> 31);
}

// Different from time to time, by the time.
inline unsigned some_number() noexcept { return static_cast<unsigned>(ticks() * random_step >> 40); }

} // namespace comity::sys
