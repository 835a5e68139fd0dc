// Which regions' next ones run on kernel threads, and for how long.
#include "model/spmd/standstills.hpp"

#include <gtest/gtest.h>

namespace {

using comity::spmd::standstills;

constexpr std::uint64_t shortest = 100;
const int code[2] = {};

TEST(standstills, none_is_known_at_first) {
    const standstills known;
    EXPECT_FALSE(known.may_know());
    EXPECT_FALSE(known.know(&code[0], 0));
}

TEST(standstills, one_is_known_for_a_while_and_by_its_code) {
    standstills known;
    known.note(&code[0], 1000, shortest);
    EXPECT_TRUE(known.may_know());
    EXPECT_TRUE(known.know(&code[0], 1000));
    EXPECT_TRUE(known.know(&code[0], 1000 + shortest - 1));
    EXPECT_FALSE(known.know(&code[0], 1000 + shortest));
    EXPECT_FALSE(known.know(&code[1], 1000));
}

TEST(standstills, one_that_comes_again_soon_is_known_for_longer_up_to_a_limit) {
    standstills known;
    std::uint64_t now = 1000, length = shortest;
    known.note(&code[0], now, shortest);
    for (int i = 0; i < 10; ++i) {
        now += 2 * length - 1; // as long as it was known, and nearly as long without one
        known.note(&code[0], now, shortest);
        length = length * 4 < 256 * shortest ? length * 4 : 256 * shortest;
        EXPECT_TRUE(known.know(&code[0], now + length - 1)) << i;
        EXPECT_FALSE(known.know(&code[0], now + length)) << i;
    }
}

TEST(standstills, one_that_comes_again_late_is_like_the_first) {
    standstills known;
    known.note(&code[0], 1000, shortest);
    known.note(&code[0], 1100, shortest); // 4 times the shortest, to 1500
    known.note(&code[0], 1900, shortest);
    EXPECT_TRUE(known.know(&code[0], 1900 + shortest - 1));
    EXPECT_FALSE(known.know(&code[0], 1900 + shortest));
}

TEST(standstills, another_code_in_its_place_begins_anew) {
    standstills known;
    const auto far =
        reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(&code[0]) + (std::uintptr_t{1} << 20));
    known.note(&code[0], 1000, shortest);
    known.note(far, 1001, shortest);
    EXPECT_FALSE(known.know(&code[0], 1001));
    EXPECT_TRUE(known.know(far, 1001));
    EXPECT_FALSE(known.know(far, 1001 + shortest));
}

} // namespace
