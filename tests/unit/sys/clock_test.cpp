#include "sys/clock.hpp"

#include <limits>

#include <gtest/gtest.h>

using namespace comity::sys;

namespace {

constexpr std::time_t first = std::numeric_limits<std::time_t>::min(), last = std::numeric_limits<std::time_t>::max();

} // namespace

TEST(clock, deadlines_saturate) {
    for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
        for (const std::time_t past : {first, std::time_t{-1}, std::time_t{0}})
            EXPECT_EQ(deadline_of(clock, {past, 0}), 0);
        EXPECT_GT(deadline_of(clock, {last, 999'999'999}), now_ns());
        EXPECT_LT(deadline_of(clock, {last, 999'999'999}), INT64_MAX);
    }
}

TEST(clock, a_time_of_another_clock_comes_as_soon) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 10;
    const std::int64_t left = deadline_of(CLOCK_REALTIME, t) - now_ns();
    EXPECT_GT(left, 8'000'000'000);
    EXPECT_LE(left, 10'000'000'000);
}

TEST(clock, what_is_no_clock_shows_nothing) { EXPECT_EQ(clock_ns(123456), -1); }
