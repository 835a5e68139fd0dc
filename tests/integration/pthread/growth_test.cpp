// Kernel threads go by the threads that live at once, not by all that were ever made.
#include "start.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include <pthread.h>
#include <unistd.h>

namespace {

constexpr int at_once = 50, rounds = 200;
constexpr std::ptrdiff_t besides = 100; // Comity's own, those that rest since their id was asked for, and a few

std::ptrdiff_t kernel_threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
}

void run_rounds(void *(*fn)(void *)) {
    for (int round = 0; round < rounds; ++round) {
        pthread_t threads[at_once];
        for (pthread_t &t : threads) ASSERT_EQ(0, pthread_create(&t, nullptr, fn, nullptr));
        for (pthread_t t : threads) ASSERT_EQ(0, pthread_join(t, nullptr));
    }
    EXPECT_GT(at_once + besides, kernel_threads());
}

} // namespace

TEST(threads_that_come_and_go, leave_as_many_kernel_threads_as_lived_at_once) {
    run_rounds([](void *) -> void * { return usleep(1), nullptr; });
}

TEST(threads_that_come_and_go, and_ask_for_their_id_leave_few_more) {
    run_rounds([](void *) -> void * { return usleep(1), static_cast<void>(gettid()), nullptr; });
}
