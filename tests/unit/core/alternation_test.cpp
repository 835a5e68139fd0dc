// When those who wait on a hart are taken for threads that merely take turns.
#include "core/alternation.hpp"

#include <gtest/gtest.h>

namespace {

using comity::core::alternation;

constexpr std::uint64_t brief = 1000;

// A hart that waits and works so long by turns.
struct hart {
    alternation turns;
    std::uint64_t now = 1'000'000;
    void turn(std::uint64_t worked, std::uint64_t waited) {
        turns.spun(now + worked, now + worked + waited, brief);
        now += worked + waited;
    }
    // After how many turns the next waiter blocks; 0: not within a thousand.
    int turns_until_it_ends(std::uint64_t worked, std::uint64_t waited) {
        for (int n = 0; n < 1000; ++n) {
            if (turns.ends()) return n;
            turn(worked, waited);
        }
        return 0;
    }
};

TEST(alternation, who_waits_for_longer_than_it_works_blocks_soon) {
    hart h;
    h.turn(brief, 0); // since the clock began
    EXPECT_EQ(h.turns_until_it_ends(100, 200), 8);
}

TEST(alternation, who_works_for_longer_than_it_waits_goes_on_spinning) {
    hart h;
    EXPECT_EQ(h.turns_until_it_ends(200, 199), 0);
}

TEST(alternation, long_turns_are_worth_a_core_each) {
    hart h;
    EXPECT_EQ(h.turns_until_it_ends(400, 601), 0);
    EXPECT_NE(h.turns_until_it_ends(400, 600), 0);
}

TEST(alternation, one_turn_of_another_kind_begins_the_count_anew) {
    hart h;
    h.turn(brief, 0);
    for (int i = 0; i < 7; ++i) h.turn(100, 200);
    h.turn(300, 200);
    EXPECT_FALSE(h.turns.ends());
    EXPECT_EQ(h.turns_until_it_ends(100, 200), 8);
}

TEST(alternation, only_one_waiter_blocks_for_it) {
    hart h;
    ASSERT_NE(h.turns_until_it_ends(100, 200), 0);
    EXPECT_FALSE(h.turns.ends());
}

} // namespace
