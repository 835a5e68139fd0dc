// A process that forks while threads of it wait with deadlines. With one hart, so that they all wait at the fork.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

TEST(fork, threads_that_wait_with_a_deadline_wake_in_the_child_too) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    if (address_sanitizer) GTEST_SKIP() << "a forked child may hang in AddressSanitizer's malloc";
    const comity::threads scope;
    comity::event never;
    // A kernel thread that is not there in the child, in the same list.
    std::thread other([&never] { EXPECT_FALSE(never.wait_for(300ms)); });
    std::this_thread::sleep_for(10ms);
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> woken{0};
        std::vector<comity::thread> all;
        for (int i = 0; i < 20; ++i)
            all.emplace_back([&, i] {
                if (i % 2)
                    comity::this_thread::sleep_for(20ms);
                else
                    EXPECT_FALSE(never.wait_for(20ms));
                ++woken;
            });
        if (round == 0) comity::this_thread::sleep_for(50ms); // once also when they have woken
        for (int i = 0; i < 50; ++i) comity::this_thread::yield();
        const pid_t child = fork();
        if (child == 0) alarm(30); // a hang ends by a signal
        all.clear();
        if (child == 0) {
            if (never.wait_for(5ms)) _exit(2);
            const auto before = std::chrono::steady_clock::now();
            std::thread([&never] { never.wait_for(5ms); }).join();
            never.set(); // over what the other kernel thread has left in the list
            _exit(woken == 20 && std::chrono::steady_clock::now() - before >= 5ms ? 0 : 1);
        }
        EXPECT_EQ(woken, 20);
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0) << "child " << round;
    }
    other.join();
}
