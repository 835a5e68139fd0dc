// Time and short waits. Everything here may be called from any thread and from signal handlers, and never switches.
#pragma once

#include <cstdint>
#include <ctime>

#include <sys/syscall.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace comity::sys {

// What a clock shows, in nanoseconds; -1: there is no such clock.
inline std::int64_t clock_ns(clockid_t clock) noexcept {
    timespec t{};
    return ::clock_gettime(clock, &t) == 0 ? t.tv_sec * 1'000'000'000LL + t.tv_nsec : -1;
}

// What a clock of CPU time shows, in nanoseconds, by the kernel itself: a drop-in answers the C library's call for the
// thread that the program knows. Touches no thread-local storage. -1: there is no such clock, or it is refused.
[[gnu::always_inline]] inline std::int64_t cpu_clock_ns(clockid_t clock) noexcept {
    timespec t{};
#if defined(__x86_64__)
    long result = SYS_clock_gettime;
    asm volatile("syscall" : "+a"(result) : "D"(static_cast<long>(clock)), "S"(&t) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long result asm("x0") = clock;
    register timespec *second asm("x1") = &t;
    register long number asm("x8") = SYS_clock_gettime;
    asm volatile("svc #0" : "+r"(result) : "r"(second), "r"(number) : "memory");
#endif
    return result == 0 ? t.tv_sec * 1'000'000'000LL + t.tv_nsec : -1;
}

// Nanoseconds of CLOCK_MONOTONIC: never steps, stands still while the machine is suspended.
inline std::int64_t now_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

// now_ns() and so many nanoseconds; less than 0 counts as 0, the sum saturates.
inline std::int64_t deadline_in(std::int64_t ns) noexcept {
    std::int64_t sum = 0;
    return __builtin_add_overflow(now_ns(), ns > 0 ? ns : 0, &sum) ? INT64_MAX : sum;
}

// A time, or a length of time, of anybody's in nanoseconds; less than 0 counts as 0, and what is too much as nearly the
// most.
inline std::int64_t nanoseconds(const timespec &t) noexcept {
    constexpr std::int64_t most = INT64_MAX / 1'000'000'000 - 1;
    if (t.tv_sec < 0) return 0;
    return t.tv_sec > most ? INT64_MAX - 1 : t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// A time of the given clock as one of now_ns(), 0 if it has passed. What the clock is set to afterwards is not seen.
inline std::int64_t deadline_of(clockid_t clock, const timespec &t) noexcept {
    if (clock == CLOCK_MONOTONIC) return nanoseconds(t);
    const std::int64_t in = nanoseconds(t) - clock_ns(clock);
    return in <= 0 ? 0 : deadline_in(in);
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
