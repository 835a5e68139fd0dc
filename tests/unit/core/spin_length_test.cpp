// How long waiters spin, as a function of how long sleepers slept.
#include "core/spin_length.hpp"

#include <gtest/gtest.h>

using comity::core::idle_after_sleep;
using comity::core::limit_idling;
using comity::core::limit_waiting;
using comity::core::spin_after_sleep;
using comity::core::spin_limits;

namespace {
constexpr std::uint64_t us = 10, usual = 20 * us;
constexpr spin_limits waiting = limit_waiting(usual), idling = limit_idling(usual, us);

template <class Rule>
std::uint64_t after(Rule rule, std::uint64_t length, spin_limits limits, std::uint64_t slept, int times) {
    for (int i = 0; i < times; ++i) length = rule(length, limits, slept);
    return length;
}
} // namespace

TEST(spin_length, who_waits_spins_five_times_as_long_and_who_is_idle_two_milliseconds) {
    EXPECT_EQ(waiting.longest, 100 * us);
    EXPECT_EQ(idling.longest, 2000 * us);
    EXPECT_EQ(limit_idling(4 * us, us).longest, 400 * us);
    EXPECT_EQ(limit_idling(1000 * us, us).longest, 5000 * us); // asked for
}

// A wake costs some 50 us: a phase that is missed by one makes the others sleep at the next.
TEST(spin_length, sleeps_that_hardly_last_longer_than_a_wake_lengthen_it_beyond_that) {
    EXPECT_EQ(after(spin_after_sleep, usual, waiting, 60 * us, 1), 2 * usual);
    EXPECT_EQ(after(spin_after_sleep, usual, waiting, 60 * us, 10), waiting.longest);
    EXPECT_GT(after(spin_after_sleep, usual, waiting, 60 * us, 10), 50 * us);
}

TEST(spin_length, serial_work_of_a_millisecond_makes_idle_harts_stay_awake_and_nobody_else) {
    EXPECT_GT(after(idle_after_sleep, usual, idling, 1000 * us, 10), 1000 * us);
    EXPECT_EQ(after(spin_after_sleep, usual, waiting, 1000 * us, 10), usual);
}

TEST(spin_length, long_sleeps_bring_it_back_and_not_below) {
    EXPECT_EQ(after(spin_after_sleep, waiting.longest, waiting, 100'000 * us, 1), waiting.longest / 2);
    EXPECT_EQ(after(spin_after_sleep, waiting.longest, waiting, 100'000 * us, 10), usual);
    EXPECT_EQ(after(idle_after_sleep, idling.longest, idling, 3000 * us, 1), idling.longest / 2);
    EXPECT_EQ(after(idle_after_sleep, idling.longest, idling, 3000 * us, 10), usual);
}

TEST(spin_length, sleeps_between_leave_it_as_it_is) {
    EXPECT_EQ(after(spin_after_sleep, 2 * usual, waiting, 500 * us, 10), 2 * usual);
    EXPECT_EQ(after(idle_after_sleep, idling.longest, idling, 500 * us, 10), idling.longest);
}

TEST(spin_length, who_is_not_to_spin_never_does) {
    for (const std::uint64_t slept : {0, 1, 60, 1'000'000}) {
        EXPECT_EQ(spin_after_sleep(0, limit_waiting(0), slept), 0u);
        EXPECT_EQ(idle_after_sleep(0, limit_idling(0, us), slept), 0u);
    }
}
