// How long waiters spin, as a function of how long sleepers slept.
#include "core/spin_length.hpp"

#include <gtest/gtest.h>

using comity::core::longest_spin;
using comity::core::spin_after_sleep;

namespace {
constexpr std::uint64_t usual = 20;

std::uint64_t after(std::uint64_t length, std::uint64_t slept, int times) {
    for (int i = 0; i < times; ++i) length = spin_after_sleep(length, usual, slept);
    return length;
}
} // namespace

// A wake costs some 50 us: a phase that is missed by one makes the others sleep at the next.
TEST(spin_length, sleeps_that_hardly_last_longer_than_a_wake_lengthen_it_beyond_that) {
    EXPECT_EQ(after(usual, 60, 1), 2 * usual);
    EXPECT_EQ(after(usual, 60, 10), longest_spin * usual);
    EXPECT_GT(after(usual, 60, 10), 50u);
}

TEST(spin_length, long_sleeps_bring_it_back_and_not_below) {
    EXPECT_EQ(after(longest_spin * usual, 1'000'000, 1), longest_spin * usual / 2);
    EXPECT_EQ(after(longest_spin * usual, 1'000'000, 10), usual);
}

TEST(spin_length, sleeps_between_leave_it_as_it_is) {
    EXPECT_EQ(after(2 * usual, 500, 10), 2 * usual);
    EXPECT_EQ(after(usual, 500, 10), usual);
}

TEST(spin_length, who_is_not_to_spin_never_does) {
    for (const std::uint64_t slept : {0, 1, 60, 1'000'000}) EXPECT_EQ(spin_after_sleep(0, 0, slept), 0u);
}
