// Sleeping in the kernel until a 32-bit word changes. Linux futexes, private to the process, by raw system calls, so
// that a drop-in can never intercept them. Any thread; a wait sleeps the kernel thread and never switches context;
// errno is kept.
#pragma once

#include "sys/shared.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>

namespace comity::sys {

enum class [[nodiscard]] wait_result : std::uint8_t{
    woken,     // by a wake, by a signal's handler, or for no reason: look at the word again
    changed,   // the word did not hold `expected`: nothing was waited for
    timed_out, // the deadline passed
};

inline constexpr std::int64_t no_deadline = INT64_MAX;

// Sleeps while word == expected. `deadline` is absolute, in nanoseconds of now_ns() (clock.hpp); one that has passed
// returns timed_out unless the word differs. The kernel's comparison is sequentially consistent with a wake on the same
// word; what else the caller wants ordered it orders itself.
// Errors: none that a caller could cause; if the kernel refuses the call, the process ends with a message.
COMITY_SHARED wait_result futex_wait(const std::atomic<std::uint32_t> &word, std::uint32_t expected,
                                     std::int64_t deadline = no_deadline) noexcept;

// The same with a duration from now, in nanoseconds; negative ones count as 0, the sum saturates.
COMITY_SHARED wait_result futex_wait_for(const std::atomic<std::uint32_t> &word, std::uint32_t expected,
                                         std::int64_t duration) noexcept;

// The same for a deadline of another clock (CLOCK_REALTIME or CLOCK_MONOTONIC; null: none), and a cancellation point: a
// thread that is cancelled in it unwinds from here.
COMITY_SHARED wait_result futex_wait_cancellable(const std::atomic<std::uint32_t> &word, std::uint32_t expected,
                                                 clockid_t clock, const timespec *deadline);

// Wakes at most `count` threads that sleep on the word; returns how many. Also from a signal handler. The word may have
// been freed meanwhile: then at worst somebody else wakes for no reason.
COMITY_SHARED int futex_wake(const std::atomic<std::uint32_t> &word, int count = 1) noexcept;
inline int futex_wake_all(const std::atomic<std::uint32_t> &word) noexcept { return futex_wake(word, INT32_MAX); }

// The calling kernel thread sleeps for so long, in nanoseconds; nobody wakes it.
COMITY_SHARED void nap(std::int64_t duration) noexcept;

} // namespace comity::sys
