#include "sys/process.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "sys/kernel_thread.hpp"

using namespace comity::sys;

namespace {
once first_use;
std::atomic<int> runs{0};
std::atomic<bool> complete{false};
void slow_start() {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    complete = true;
}

std::atomic<void *> ended_with{nullptr};
int before = 0, in_parent = 0, in_child = 0;
} // namespace

TEST(process, once_runs_a_function_once_and_nobody_goes_on_before_it_is_done) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([] {
            first_use.run(slow_start);
            EXPECT_TRUE(complete);
        });
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(runs, 1);
}

TEST(process, the_end_of_an_armed_thread_is_told_with_its_argument) {
    static thread_end hook;
    ASSERT_TRUE(hook.create([](void *argument) { ended_with = argument; }));
    int object = 0;
    std::thread([] {}).join();
    EXPECT_EQ(ended_with, nullptr) << "of a thread that did not arm it";
    std::thread([&] { hook.arm(&object); }).join();
    EXPECT_EQ(ended_with, &object);
}

TEST(process, a_hook_that_could_not_be_made_is_never_called) {
    thread_end hook;
    std::thread([&] { hook.arm(&hook); }).join();
    EXPECT_NE(ended_with, &hook);
}

TEST(process, a_fork_calls_before_and_then_each_side_its_own) {
    ASSERT_TRUE(at_fork([] { ++before; }, [] { ++in_parent; }, [] { ++in_child; }));
    const pid_t child = fork();
    if (child == 0) _exit(before == 1 && in_parent == 0 && in_child == 1 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(before == 1 && in_parent == 1 && in_child == 0);
}

TEST(process, a_kernel_thread_knows_its_stack) {
    std::thread([] {
        void *bottom = nullptr;
        std::size_t size = 0;
        char here = 0;
        ASSERT_TRUE(kernel_thread_stack(bottom, size));
        EXPECT_LT(bottom, static_cast<void *>(&here));
        EXPECT_GT(static_cast<char *>(bottom) + size, &here);
    }).join();
}
