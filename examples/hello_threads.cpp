// Threads, a mutex, an exception that reaches the joiner, and a parallel sum by recursion.
#include <comity/sync.hpp>
#include <comity/thread.hpp>

#include <cstdio>
#include <mutex>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

static long sum(std::span<const int> numbers) {
    if (numbers.size() < 1000) return std::accumulate(numbers.begin(), numbers.end(), 0L);
    const std::size_t half = numbers.size() / 2;
    long left = 0;
    comity::thread t([&left, numbers, half] { left = sum(numbers.first(half)); });
    const long right = sum(numbers.subspan(half));
    t.join();
    return left + right;
}

int main() {
    const comity::threads scope; // one scheduler for all of this; ends when everything has ended

    comity::mutex m;
    int hellos = 0; // under m
    {
        std::vector<comity::thread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&, i] {
                const std::lock_guard lock(m);
                std::printf("hello from thread %d on hart %d\n", i, comity_hart_id());
                ++hellos;
            });
    } // joined here

    comity::thread fails([] { throw std::runtime_error("thrown in a thread"); });
    bool caught = false;
    try {
        fails.join();
    } catch (const std::runtime_error &e) {
        std::printf("caught: %s\n", e.what());
        caught = true;
    }

    std::vector<int> numbers(1'000'000);
    std::iota(numbers.begin(), numbers.end(), 1);
    const long total = sum(numbers);
    std::printf("sum: %ld\n", total);
    return hellos == 8 && caught && total == 500'000'500'000 ? 0 : 1;
}
