// Threads of the program that share fewer harts than they are: who waits, and for how long.
#include "test_scheduler.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

// How often the calling thread has gone to sleep.
long sleeps() {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

void wait_until(const std::atomic<int> &count, int value) {
    while (count < value) std::this_thread::sleep_for(100us);
}

} // namespace

// Each look at the harts is a kernel thread more that wants a core, and those are taken. Looks every half millisecond
// make 340 sleeps in 200 ms, the ones that grow rarer about 50, and up to 100 under load and an emulator with locks.
TEST(adoption, threads_that_wait_for_a_hart_sleep_while_none_is_to_be_had) {
    constexpr int holders = 2, waiters = 4;
    std::atomic<int> holding{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < holders; ++i)
        threads.emplace_back([&] {
            test_scheduler s;
            s.register_here();
            ++holding;
            while (!done) std::this_thread::sleep_for(1ms);
            comity::scheduler::unregister();
        });
    wait_until(holding, holders);
    std::vector<long> slept(waiters), milliseconds(waiters);
    for (int i = 0; i < waiters; ++i)
        threads.emplace_back([&, i] {
            const auto begin = std::chrono::steady_clock::now();
            const long before = sleeps();
            test_scheduler s;
            s.register_here();
            slept[static_cast<std::size_t>(i)] = sleeps() - before;
            milliseconds[static_cast<std::size_t>(i)] =
                std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
            comity::scheduler::unregister();
        });
    std::this_thread::sleep_for(200ms);
    done = true;
    for (auto &t : threads) t.join();
    for (std::size_t i = 0; i < waiters; ++i) EXPECT_LE(slept[i], milliseconds[i]) << milliseconds[i] << " ms";
}

// A thread keeps its hart when it leaves; one that waits must find out that it does not come back.
TEST(adoption, a_thread_that_waits_gets_the_hart_of_one_that_stays_outside) {
    constexpr int keepers = 2;
    for (int again = 0; again < 50; ++again) {
        std::atomic<int> inside{0}, arrived{0}, served{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < keepers; ++i)
            threads.emplace_back([&] {
                test_scheduler s;
                s.register_here();
                ++inside;
                while (inside < keepers || arrived == 0) std::this_thread::yield();
                comity::scheduler::unregister(); // mostly at once, so that it keeps the hart though somebody waits
                wait_until(served, 1);
            });
        threads.emplace_back([&] {
            while (inside < keepers) std::this_thread::yield();
            ++arrived;
            test_scheduler s;
            s.register_here();
            comity::scheduler::unregister();
            ++served;
        });
        for (auto &t : threads) t.join();
        EXPECT_EQ(served, 1);
    }
}
