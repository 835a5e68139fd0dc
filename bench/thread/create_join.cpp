// Cycles (of the time-stamp counter) for the creation and join of an empty thread, N at a time, with each technique,
// joined in either order, and when each thread is stopped once; beside a call through a pointer and a std::thread. The
// best of many rounds: the machine's noise only adds.
#include "comity/thread.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
static std::uint64_t ticks() { return __rdtsc(); }
#else
#include <chrono>
static std::uint64_t ticks() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
#endif

namespace {

void *empty(void *p) { return p; }
void *yields_once(void *p) {
    comity_thread_yield();
    return p;
}

template <class Round> double best_of(int rounds, std::size_t n, Round round) {
    double best = 1e18;
    for (int i = 0; i < rounds; ++i) {
        const std::uint64_t from = ticks();
        round();
        best = std::min(best, static_cast<double>(ticks() - from) / static_cast<double>(n));
    }
    return best;
}

double create_and_join(comity_technique_t technique, void *(*fn)(void *), std::size_t n, bool reverse) {
    std::vector<comity_thread_t *> threads(n);
    const comity_thread_attr_t attr{technique, 0, 0, 0};
    return best_of(static_cast<int>(200'000 / n) + 3, n, [&] {
        for (comity_thread_t *&t : threads)
            if (comity_thread_create(&t, &attr, fn, nullptr) != 0) std::abort();
        if (reverse) std::reverse(threads.begin(), threads.end());
        for (comity_thread_t *t : threads) comity_thread_join(t, nullptr);
    });
}

double call(std::size_t n) {
    void *(*volatile fn)(void *) = empty;
    return best_of(200, n, [&] {
        for (std::size_t i = 0; i < n; ++i) fn(nullptr);
    });
}

} // namespace

int main() {
    if (comity_threads_begin() != 0) return 1;
    std::printf("%-34s %10s %10s\n", "cycles for a creation and a join", "N=256", "N=4096");
    std::printf("%-34s %10.1f %10.1f\n", "call through a pointer", call(256), call(4096));
    const struct {
        const char *name;
        comity_technique_t technique;
    } techniques[] = {{"roc_l", COMITY_TECHNIQUE_ROC_L}, {"full", COMITY_TECHNIQUE_FULL}};
    for (const auto &t : techniques)
        for (const bool stopped : {false, true})
            for (const bool reverse : {false, true}) {
                char name[64];
                std::snprintf(name, sizeof name, "%s, joined %s%s", t.name, reverse ? "in reverse" : "forward",
                              stopped ? ", D=100 %" : "");
                std::printf("%-34s %10.0f %10.0f\n", name,
                            create_and_join(t.technique, stopped ? yields_once : empty, 256, reverse),
                            create_and_join(t.technique, stopped ? yields_once : empty, 4096, reverse));
            }
    comity_threads_end();
    std::printf("%-34s %10.0f\n", "std::thread", best_of(3, 64, [] {
                    std::vector<std::thread> threads;
                    for (int i = 0; i < 64; ++i) threads.emplace_back([] {});
                    for (std::thread &t : threads) t.join();
                }));
    return 0;
}
