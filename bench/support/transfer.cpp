// Prints how long a cache line takes from one core to another and back, halved. What synchronises threads cannot be
// faster, and on a virtual machine it changes by the second with where the hypervisor has the cores.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <sched.h>

namespace {

constexpr int rounds = 100'000;
alignas(64) std::atomic<int> word{0};

void answer() {
    for (int i = 0; i < rounds; ++i) {
        while (word.load(std::memory_order_acquire) != 2 * i + 1) {
        }
        word.store(2 * i + 2, std::memory_order_release);
    }
}

void ask() {
    for (int i = 0; i < rounds; ++i) {
        word.store(2 * i + 1, std::memory_order_release);
        while (word.load(std::memory_order_acquire) != 2 * i + 2) {
        }
    }
}

} // namespace

int main() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) < 2) {
        std::fprintf(stderr, "transfer: there is only one core\n");
        return 1;
    }
    std::thread other(answer);
    const auto begin = std::chrono::steady_clock::now();
    ask();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    other.join();
    std::printf("{\"program\":\"transfer\",\"ns\":%.1f}\n", took.count() / (2.0 * rounds));
}
