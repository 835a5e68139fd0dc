// Kernel threads, contexts and address space go by the threads that live at once, not by all that were ever made, and
// are given back when the process rests.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>

#include <pthread.h>
#include <unistd.h>

namespace {

constexpr int at_once = 50, rounds = 200;
constexpr std::ptrdiff_t besides = 100; // Comity's own, those that rest since their id was asked for, and a few

std::ptrdiff_t kernel_threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
}

// Of address space, in bytes.
std::size_t mapped() {
    std::size_t pages = 0;
    std::FILE *f = std::fopen("/proc/self/statm", "r");
    if (!f || std::fscanf(f, "%zu", &pages) != 1) ADD_FAILURE() << "no /proc/self/statm";
    if (f) std::fclose(f);
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Whose storage stands for its context.
thread_local int storage;

std::set<const void *> run_and_tell_contexts(int n_rounds) {
    std::set<const void *> contexts;
    for (int round = 0; round < n_rounds; ++round) {
        std::array<pthread_t, at_once> threads;
        const auto run = [](void *) -> void * { return usleep(1), &storage; };
        for (pthread_t &t : threads) EXPECT_EQ(0, pthread_create(&t, nullptr, run, nullptr));
        for (pthread_t t : threads) {
            void *context = nullptr;
            EXPECT_EQ(0, pthread_join(t, &context));
            contexts.insert(context);
        }
    }
    return contexts;
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

// The C library's arenas of malloc are not counted, which it keeps: MALLOC_ARENA_MAX is 1 here.
TEST(threads_that_come_and_go, take_contexts_and_memory_by_their_number_at_once_and_give_them_back) {
    constexpr std::size_t context = std::size_t{9} << 20; // its stack, and what else belongs to it
    constexpr std::size_t few = 16;
    pthread_t first{};
    ASSERT_EQ(0, pthread_create(
                     &first, nullptr, [](void *) -> void * { return nullptr; }, nullptr));
    ASSERT_EQ(0, pthread_join(first, nullptr));
    std::size_t at_rest = mapped();
    for (int burst = 0; burst < 2; ++burst) {
        EXPECT_GT(std::size_t{at_once + besides}, run_and_tell_contexts(rounds).size());
        EXPECT_GT(at_rest + (at_once + besides) * context, mapped());
        const auto is_at_rest = [&] { return kernel_threads() < 30 && mapped() < at_rest + few * context; };
        for (int second = 0; second < 60 && !is_at_rest(); ++second) sleep(1);
        EXPECT_GT(30, kernel_threads());
        EXPECT_GT(at_rest + few * context, mapped());
        at_rest = mapped();
    }
}
