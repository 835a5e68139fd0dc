// Contexts that nobody needs any more are given back.
#include "comity/sync.h"
#include "comity/thread.h"
#include "core/runtime.hpp"
#include "sys/options.hpp"
#include "sys/stack_pool.hpp"
#include "thread/spare.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::int64_t short_ns = 20'000'000, long_ns = 5'000'000'000;

std::ptrdiff_t kernel_threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
}

// So many threads that all live at once, and have ended.
void live_at_once(unsigned n, bool own_tls) {
    static comity_barrier_t all;
    ASSERT_EQ(0, comity_barrier_init(&all, n));
    const comity_thread_attr_t a{COMITY_TECHNIQUE_FULL_L, 0, own_tls, 0};
    std::vector<comity_thread_t *> threads(n);
    for (comity_thread_t *&t : threads)
        ASSERT_EQ(0, comity_thread_create(
                         &t, &a, [](void *) -> void * { return comity_barrier_wait(&all), nullptr; }, nullptr));
    for (comity_thread_t *t : threads) ASSERT_EQ(0, comity_thread_join(t, nullptr));
}

template <class Reached> void await(Reached reached) {
    while (!reached()) usleep(1000); // the test's limit of time is the limit
}

std::size_t stacks_in_use() { return comity::sys::get_stack_pool_state(comity::sys::get_options().stack_size).in_use; }

} // namespace

TEST(contexts_that_nobody_needs, leave_few_kernel_threads) {
    comity::set_spare_patience(short_ns);
    ASSERT_EQ(0, comity_threads_begin());
    live_at_once(60, true);
    await([] { return kernel_threads() < 16; });
    live_at_once(60, true); // and those that come again find some
    comity_threads_end();
    await([] { return kernel_threads() < 16; });
    comity::set_spare_patience(long_ns);
}

TEST(contexts_that_nobody_needs, give_their_stacks_back) {
    comity::set_spare_patience(short_ns);
    ASSERT_EQ(0, comity_threads_begin());
    live_at_once(3000, false);
    comity_threads_end();
    await([] { return stacks_in_use() <= 64; });
    await([] { return comity::sys::get_stack_pool_state(comity::sys::get_options().stack_size).warm == 0; });
    comity::set_spare_patience(long_ns);
}

TEST(contexts_that_nobody_needs, are_freed_in_the_child_of_a_fork_too) {
    comity::set_spare_patience(short_ns);
    ASSERT_EQ(0, comity_threads_begin());
    live_at_once(60, true);
    const pid_t child = fork();
    if (child == 0) {
        live_at_once(60, true);
        await([] { return kernel_threads() < 16; });
        _exit(7);
    }
    int status = 0;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(7, WEXITSTATUS(status));
    comity_threads_end();
    comity::set_spare_patience(long_ns);
}
