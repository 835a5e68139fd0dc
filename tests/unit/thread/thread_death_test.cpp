#include "comity/thread.h"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

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
            comity::thread({.detached = true}, [] { throw 1; });
        },
        "terminate");
}
