#include "comity/thread.h"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace {
class thread_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
} // namespace

TEST_F(thread_death, exit_outside_a_thread_names_the_call) {
    EXPECT_DEATH(comity_thread_exit(nullptr), "comity_thread_exit");
}

TEST_F(thread_death, end_without_begin_names_the_call) { EXPECT_DEATH(comity_threads_end(), "comity_threads_end"); }

TEST_F(thread_death, end_in_a_thread_names_the_call) {
    EXPECT_DEATH(
        {
            comity_threads_begin();
            comity::thread t([] { comity_threads_end(); });
            t.join();
        },
        "comity_threads_end");
}

TEST_F(thread_death, an_exception_that_nobody_joins_ends_the_program) {
    EXPECT_DEATH({ comity::thread t([] { throw 1; }); }, "terminate");
    EXPECT_DEATH({ comity::thread t([] { throw std::runtime_error("lost"); }); }, "lost");
    EXPECT_DEATH(
        {
            const comity::threads scope;
            comity::thread({.detached = true}, [] { throw std::runtime_error("lost"); });
        },
        "lost");
}

TEST_F(thread_death, an_exception_of_a_thread_that_is_detached_ends_the_program_whenever_it_was_thrown) {
    EXPECT_DEATH(
        {
            std::atomic<bool> go{false}; // lives longer than the thread, for which the scope waits
            const comity::threads scope;
            comity::thread t([&go] {
                while (!go) comity::this_thread::yield();
                throw std::runtime_error("lost");
            });
            t.detach();
            go = true;
        },
        "lost");
    EXPECT_DEATH(
        {
            const comity::threads scope;
            std::atomic<bool> has_begun{false};
            comity::thread t([&has_begun] {
                has_begun = true;
                throw std::runtime_error("lost");
            });
            while (!has_begun) comity::this_thread::yield();
            comity::this_thread::yield();
            t.detach();
        },
        "lost");
}
