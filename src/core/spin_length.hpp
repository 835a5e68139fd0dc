// How long who waits spins before its kernel thread sleeps. To sleep and be woken costs some 50 us where cores are
// virtual, more than the usual length: then one who slept is late, the others wait longer for it than they spin, sleep
// too and are late in turn, and a program whose phases are short never comes out of that again. So short sleeps
// lengthen the spinning, and long ones bring it back: who is idle for long pays nothing more.
//
// An idle hart may spin for longer than who waits for somebody: its time is nobody's, as long as the machine has a core
// to spare for it, and a parallel region that comes after a millisecond or two of serial work finds it awake.
#pragma once

#include <algorithm>
#include <cstdint>

namespace comity::core {

struct spin_limits {
    std::uint64_t usual = 0; // what is configured
    std::uint64_t longest = 0;
};

constexpr spin_limits limit_waiting(std::uint64_t usual) noexcept { return {usual, 5 * usual}; }
// `us`: a microsecond, in the unit of all.
constexpr spin_limits limit_idling(std::uint64_t usual, std::uint64_t us) noexcept {
    return {usual, std::max(5 * usual, std::min(100 * usual, 2000 * us))};
}

// The length of who waits from now on, after somebody has slept for `slept`.
constexpr std::uint64_t spin_after_sleep(std::uint64_t length, spin_limits limits, std::uint64_t slept) noexcept {
    if (slept <= 2 * limits.longest) return std::min(2 * length, limits.longest);
    if (slept > 20 * limits.longest) return std::max(length / 2, limits.usual);
    return length;
}

// And of who is idle: it was so for as long as it spun and slept, and to spin is worth nothing if it sleeps after all.
constexpr std::uint64_t idle_after_sleep(std::uint64_t length, spin_limits limits, std::uint64_t slept) noexcept {
    if (length + slept <= limits.longest) return std::min(2 * length, limits.longest);
    if (slept > limits.longest) return std::max(length / 2, limits.usual);
    return length;
}

} // namespace comity::core
