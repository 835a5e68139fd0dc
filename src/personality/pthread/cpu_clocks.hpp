// The numbers of clocks of CPU time.
#pragma once

#include "sys/clock.hpp"

namespace comity::posix {

// The kernel's clocks of one thread's CPU time have the complement of its id, times 8, plus 6; without an id they are
// the caller's.
inline constexpr int kernels_kind = 6;
inline bool is_clock_of_kernel_thread(clockid_t clock) noexcept { return clock < 0 && (clock & 7) == kernels_kind; }
inline int id_of_clock(clockid_t clock) noexcept { return ~(clock >> 3); }
inline bool is_own_cpu_clock(clockid_t clock) noexcept {
    return clock == CLOCK_THREAD_CPUTIME_ID || (is_clock_of_kernel_thread(clock) && id_of_clock(clock) == 0);
}

// Ours have the thread's number in place of the id, and a kind that the kernel does not know.
inline constexpr int own_kind = 7;
inline bool is_clock_of_own_thread(clockid_t clock) noexcept { return clock < 0 && (clock & 7) == own_kind; }
inline clockid_t clock_of_own_thread(unsigned number) noexcept {
    return static_cast<clockid_t>(~number << 3 | static_cast<unsigned>(own_kind));
}

inline void put_time(timespec &to, std::int64_t ns) noexcept { to = {ns / 1'000'000'000, ns % 1'000'000'000}; }

} // namespace comity::posix
