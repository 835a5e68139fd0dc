// How long who waits spins before its kernel thread sleeps. To sleep and be woken costs some 50 us where cores are
// virtual, more than the usual length: then one who slept is late, the others wait longer for it than they spin, sleep
// too and are late in turn, and a program whose phases are short never comes out of that again. So short sleeps
// lengthen the spinning, up to twice that cost, and long ones bring it back: who is idle for long pays nothing more.
#pragma once

#include <algorithm>
#include <cstdint>

namespace comity::core {

inline constexpr std::uint64_t longest_spin = 5; // times the usual length

// The length from now on, after somebody has slept for `slept`. All in one unit; `usual` is what is configured.
constexpr std::uint64_t spin_after_sleep(std::uint64_t length, std::uint64_t usual, std::uint64_t slept) noexcept {
    const std::uint64_t longest = longest_spin * usual;
    if (slept <= 2 * longest) return std::min(2 * length, longest);
    if (slept > 20 * longest) return std::max(length / 2, usual);
    return length;
}

} // namespace comity::core
