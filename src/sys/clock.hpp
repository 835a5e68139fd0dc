// Time and short waits. Everything here may be called from any thread and from signal handlers, and never switches.
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace comity::sys {

// Nanoseconds of CLOCK_MONOTONIC: never steps, stands still while the machine is suspended.
inline std::int64_t now_ns() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

// now_ns() and so many nanoseconds; less than 0 counts as 0, the sum saturates.
inline std::int64_t deadline_in(std::int64_t ns) noexcept {
    std::int64_t sum = 0;
    return __builtin_add_overflow(now_ns(), ns > 0 ? ns : 0, &sum) ? INT64_MAX : sum;
}

// A cheap counter that runs at a constant rate (of the order of 1 GHz on x86-64, 25 MHz to 1 GHz on aarch64). Not
// serialising: neighbours may be reordered around it. Use now_ns() for a duration that anybody will see.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t value = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return static_cast<std::uint64_t>(now_ns());
#endif
}

// One step of a spin loop: tells the core that nothing useful happens here. Some ten to a hundred nanoseconds.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory"); // `yield` is a no-operation on most cores; isb waits about as long as pause
#else
    asm volatile("" ::: "memory");
#endif
}

} // namespace comity::sys
