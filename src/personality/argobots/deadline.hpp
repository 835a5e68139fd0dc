// Deadlines of the program's clock as Comity's.
#pragma once

#include "sys/clock.hpp"

#include <cstdint>
#include <ctime>

namespace comity::abt {

// A time of CLOCK_REALTIME as one of sys::now_ns.
inline std::int64_t deadline_of(const timespec &t) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(t.tv_sec - now.tv_sec, std::int64_t{1'000'000'000}, &ns))
        return t.tv_sec > now.tv_sec ? INT64_MAX : INT64_MIN;
    std::int64_t at = 0;
    if (__builtin_add_overflow(ns, sys::now_ns() + t.tv_nsec - now.tv_nsec, &at)) return INT64_MAX;
    return at;
}

} // namespace comity::abt
