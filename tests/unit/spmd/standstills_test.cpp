// Which regions' next ones run on kernel threads, and how many of them.
#include "model/spmd/standstills.hpp"

#include <gtest/gtest.h>

namespace {

using comity::spmd::standstills;

const int code[2] = {};

// How many of the next regions with this code are expected to stand still.
std::uint32_t count_expected(standstills &known, const void *of = &code[0]) {
    std::uint32_t n = 0;
    while (known.expects(of, 3)) ++n;
    return n;
}

TEST(standstills, none_is_expected_at_first) {
    standstills known;
    EXPECT_FALSE(known.may_know());
    EXPECT_FALSE(known.expects(&code[0], 3));
}

TEST(standstills, some_are_expected_of_that_code_with_as_many_ranks) {
    standstills known;
    known.note(&code[0], 3);
    EXPECT_TRUE(known.may_know());
    EXPECT_TRUE(known.expects(&code[0], 4));
    EXPECT_FALSE(known.expects(&code[0], 2));
    EXPECT_FALSE(known.expects(&code[1], 3));
    EXPECT_EQ(standstills::first - 1, count_expected(known));
    known.note(&code[0], 2);
    EXPECT_TRUE(known.expects(&code[0], 2));
}

TEST(standstills, more_are_expected_if_one_comes_again_soon_up_to_a_limit) {
    standstills known;
    std::uint32_t length = standstills::first;
    known.note(&code[0], 3);
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(length, count_expected(known)) << i;
        for (std::uint32_t well = 1; well < length; ++well) EXPECT_FALSE(known.expects(&code[0], 3));
        known.note(&code[0], 3);
        length = 2 * length < standstills::most ? 2 * length : standstills::most;
    }
}

TEST(standstills, one_that_comes_again_late_is_like_the_first) {
    standstills known;
    known.note(&code[0], 3);
    known.note(&code[0], 3);
    EXPECT_EQ(2 * standstills::first, count_expected(known));
    for (std::uint32_t well = 0; well < 2 * standstills::first; ++well) EXPECT_FALSE(known.expects(&code[0], 3));
    known.note(&code[0], 3);
    EXPECT_EQ(standstills::first, count_expected(known));
}

TEST(standstills, another_code_in_its_place_begins_anew) {
    standstills known;
    const auto far =
        reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(&code[0]) + (std::uintptr_t{1} << 20));
    known.note(&code[0], 3);
    known.note(far, 3);
    EXPECT_FALSE(known.expects(&code[0], 3));
    EXPECT_EQ(standstills::first, count_expected(known, far));
}

} // namespace
