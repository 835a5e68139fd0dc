// The thesis' `computation(i, j, cycles)`: work worth a number of time stamp counter cycles of an undisturbed core.
//
// The loop runs a number of *iterations* fixed beforehand. It must not watch the counter while it runs: a thread that
// was preempted would then count the time it was off the core as work done, and oversubscription would look free.
#pragma once

#include <algorithm>
#include <cstdint>

namespace bench {

inline std::uint64_t time_stamp() {
#if defined(__x86_64__)
    std::uint32_t low, high;
    asm volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (static_cast<std::uint64_t>(high) << 32) | low;
#elif defined(__aarch64__)
    std::uint64_t now;
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(now)::"memory");
    return now;
#else
#error "no time stamp counter known for this machine"
#endif
}

// One dependent multiply and add an iteration, so that neither the compiler nor a wide core can shorten it.
[[gnu::noinline]] inline void spin_iterations(std::uint64_t iterations) {
    std::uint64_t value = iterations | 1;
    for (std::uint64_t i = 0; i < iterations; ++i) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        asm volatile("" : "+r"(value));
    }
}

// Iterations of spin_iterations() per time stamp counter cycle. The fastest of many tries is the undisturbed one. The
// harness measures it once and hands the same number to every contender, so that all of them do the same work.
inline double calibrate_rate() {
    constexpr std::uint64_t iterations = 20000;
    std::uint64_t best = ~std::uint64_t{0};
    for (int attempt = 0; attempt < 400; ++attempt) {
        const std::uint64_t begin = time_stamp();
        spin_iterations(iterations);
        best = std::min(best, time_stamp() - begin);
    }
    return static_cast<double>(iterations) / static_cast<double>(best);
}

} // namespace bench
