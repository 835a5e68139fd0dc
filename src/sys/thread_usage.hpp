// What the kernel tells of what a thread has used (getrusage), for threads that are not kernel threads. Any thread;
// nothing switches.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sys/resource.h>

namespace comity::sys {

using usage = ::rusage;
inline constexpr int usage_of_thread = RUSAGE_THREAD, usage_of_process = RUSAGE_SELF;

inline std::int64_t ns_of(const timeval &t) noexcept { return t.tv_sec * 1'000'000'000LL + t.tv_usec * 1'000; }
inline timeval time_of(std::int64_t ns) noexcept { return {ns / 1'000'000'000, ns % 1'000'000'000 / 1'000}; }

// What one thread was told of its time: neither part ever falls.
struct usage_told {
    std::int64_t user = 0, system = 0; // ns
};

// Sets the times to `ns` in all. How much of that was in the kernel is not known of such a thread: the same part as of
// the process's.
inline void set_times(usage &of, std::int64_t ns, const usage &process, usage_told &told) noexcept {
    const auto user = static_cast<double>(ns_of(process.ru_utime)),
               system = static_cast<double>(ns_of(process.ru_stime));
    const double part = user + system > 0 ? user / (user + system) : 1;
    ns = std::max(ns, told.user + told.system);
    told.user = std::clamp(static_cast<std::int64_t>(part * static_cast<double>(ns)), told.user, ns - told.system);
    told.system = ns - told.user;
    of.ru_utime = time_of(told.user);
    of.ru_stime = time_of(told.system);
}

// What the kernel counts for the kernel thread that carries one at the moment, and others.
inline void clear_counts(usage &of) noexcept {
    of.ru_minflt = of.ru_majflt = of.ru_inblock = of.ru_oublock = of.ru_nvcsw = of.ru_nivcsw = 0;
}

} // namespace comity::sys
