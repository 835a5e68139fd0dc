// What the process under test can say about itself: which OpenMP runtime answers, how many kernel threads there are,
// processor time.
#pragma once

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace bench {

// The file of the shared object that answers omp_get_num_threads. The harness compares it with the runtime it asked
// for: a run that silently fell back to another runtime proves nothing.
inline std::string runtime_path() {
    Dl_info info{};
    void *symbol = dlsym(RTLD_DEFAULT, "omp_get_num_threads");
    if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return "none";
    char resolved[PATH_MAX];
    return realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
}

inline int kernel_threads() {
    std::FILE *file = std::fopen("/proc/self/status", "r");
    if (file == nullptr) return -1;
    char line[256];
    int threads = -1;
    while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, "Threads: %d", &threads) != 1) {
    }
    std::fclose(file);
    return threads;
}

inline double seconds_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

// User and system time of all threads, living and dead, in seconds; exact to the scheduler's clock, not to its tick.
inline double processor_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

inline long context_switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

} // namespace bench
