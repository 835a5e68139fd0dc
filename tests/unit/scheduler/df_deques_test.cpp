// The policy with several harts, each of which does what the test says: what is picked, and when a quota begins anew.
#include "core/base.hpp"
#include "core/runtime.hpp"
#include "scheduler/policy/descent.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

using namespace comity;
using namespace comity::scheduler;

namespace {

class df_deques : public testing::Test {
protected:
    void SetUp() override {
        comity_scheduler_attr_t a{};
        a.kind = COMITY_SCHEDULER_DF_DEQUES;
        int error = 0;
        made.reset(make_policy(a, error));
        ASSERT_NE(made, nullptr);
        order = made->by_descent;
        nobody = core::base().hart_count();
        ASSERT_GE(nobody, 4U);
    }
    std::array<unit, 16> units;
    std::unique_ptr<policy> made;
    descent *order = nullptr;
    unsigned nobody = 0; // the number of no hart

    void put(unsigned hart, std::size_t i) { ASSERT_TRUE(order->line_up(hart, &units[i], nullptr, occasion::ready)); }
    // Which unit; -1: none, -2: a dummy.
    int pick(unsigned hart) {
        const choice c = order->pick_for(hart);
        renews = c.renews;
        for (std::size_t i = 0; i < units.size(); ++i)
            if (c.u == &units[i]) return static_cast<int>(i);
        return c.u ? -2 : -1;
    }
    bool renews = false;
};

} // namespace

TEST_F(df_deques, gives_a_hart_the_newest_of_its_own_and_no_new_quota) {
    for (const std::size_t i : {0, 1, 2}) put(0, i);
    for (const int i : {2, 1, 0}) {
        EXPECT_EQ(pick(0), i);
        EXPECT_FALSE(renews);
    }
    EXPECT_EQ(pick(0), -1);
    EXPECT_FALSE(made->has_work());
}

TEST_F(df_deques, gives_others_the_oldest_and_a_new_quota) {
    for (const std::size_t i : {0, 1, 2}) put(0, i);
    EXPECT_EQ(pick(1), 0);
    EXPECT_TRUE(renews);
    EXPECT_EQ(pick(2), 1);
    EXPECT_TRUE(renews);
    EXPECT_EQ(pick(0), 2);
    EXPECT_FALSE(renews);
}

// The thief's deque stands right of the one that it took from, and left of what stood right of that.
TEST_F(df_deques, keeps_the_order_of_what_was_taken) {
    for (int taken = -1; taken != 0;) { // or that of nobody: each of the first ones may be robbed
        SetUp();
        for (const std::size_t i : {0, 1}) put(0, i);
        put(nobody, 9);
        taken = pick(1);
        ASSERT_TRUE(taken == 0 || taken == 9);
    }
    put(1, 5);
    for (const std::size_t i : {1, 5, 9}) EXPECT_EQ(made->pick(), &units[i]);
    EXPECT_EQ(made->pick(), nullptr);
}

// A hart that has used its quota up leaves its deque where it stands; whoever finds it leftmost goes on with all of it.
TEST_F(df_deques, takes_a_deque_over_that_somebody_has_left) {
    put(0, 0);
    put(0, 1);
    ASSERT_TRUE(order->line_up_delayed(0, &units[2], nullptr, 0));
    EXPECT_EQ(pick(1), 2);
    EXPECT_TRUE(renews);
    EXPECT_EQ(pick(1), 1);
    EXPECT_FALSE(renews) << "it is the hart's own now";
    EXPECT_EQ(pick(0), 0);
    EXPECT_TRUE(renews);
}

TEST_F(df_deques, runs_a_dummy_for_each_quota_of_a_large_allocation) {
    put(0, 0); // the deque of who executes, left of all
    ASSERT_EQ(pick(1), 0);
    ASSERT_TRUE(order->line_up_delayed(1, &units[1], nullptr, 3));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(pick(2), -2);
        EXPECT_TRUE(renews);
        EXPECT_TRUE(made->has_work());
    }
    EXPECT_EQ(pick(2), 1);
    EXPECT_FALSE(made->has_work());
}

// What it allocates one hart alone would allocate now.
TEST_F(df_deques, holds_back_nobody_who_has_none_left_of_him) {
    put(0, 0);
    ASSERT_TRUE(order->line_up_delayed(0, &units[1], nullptr, 1'000'000));
    EXPECT_EQ(pick(2), 1);
    EXPECT_EQ(pick(2), 0);
}

TEST_F(df_deques, knows_whether_something_goes_before_a_thread) {
    put(0, 0);
    EXPECT_TRUE(order->is_next(0, nullptr)) << "what it has left for later goes behind it";
    put(0, 1);
    ASSERT_EQ(pick(1), 0); // right of the deque of hart 0
    EXPECT_TRUE(order->is_next(0, nullptr));
    EXPECT_FALSE(order->is_next(1, nullptr));
    ASSERT_EQ(pick(0), 1);
    EXPECT_TRUE(order->is_next(1, nullptr));
    EXPECT_TRUE(order->is_next(2, nullptr)) << "there is nothing";
    put(1, 2);
    EXPECT_FALSE(order->is_next(2, nullptr));
    units[3].set_rank(1);
    EXPECT_TRUE(order->is_next(2, &units[3]));
    put(2, 3);
    EXPECT_FALSE(order->is_next(0, nullptr)) << "a higher priority";
}

TEST_F(df_deques, runs_higher_priorities_first_whoever_has_them) {
    for (const std::size_t i : {1, 2, 3}) units[i].set_rank(i == 2 ? 200 : 7);
    for (const std::size_t i : {0, 1, 2, 3}) put(0, i);
    EXPECT_EQ(pick(0), 2);
    EXPECT_EQ(pick(1), 1);
    EXPECT_EQ(pick(0), 3);
    EXPECT_EQ(pick(1), 0);
    EXPECT_EQ(pick(0), -1);
}

TEST_F(df_deques, lets_all_others_go_before_who_has_yielded) {
    ASSERT_TRUE(order->line_up(0, &units[0], nullptr, occasion::yielded));
    ASSERT_TRUE(order->line_up(0, &units[1], nullptr, occasion::yielded));
    put(0, 2);
    put(nobody, 3);
    for (const int i : {2, 3, 0, 1}) EXPECT_EQ(pick(0), i);
    EXPECT_EQ(pick(0), -1);
}

// Those that never end, and are ready again and again, would keep them waiting for ever.
TEST_F(df_deques, lets_whoever_is_overtaken_go_within_a_bounded_time) {
    put(0, 1);
    put(0, 2);
    ASSERT_TRUE(order->line_up_delayed(0, &units[3], nullptr, 1'000'000)); // another deque
    put(nobody, 4);
    ASSERT_TRUE(order->line_up(0, &units[0], nullptr, occasion::yielded));
    put(0, 5);
    std::array<bool, 16> seen{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto all = [&seen] { return seen[0] && seen[1] && seen[2] && seen[3] && seen[4]; };
    while (std::chrono::steady_clock::now() < end && !all()) {
        const int i = pick(0);
        if (i == 5) put(0, 5); // for ever
        if (i >= 0) seen[static_cast<std::size_t>(i)] = true;
    }
    for (const std::size_t i : {0, 1, 2, 3, 4}) EXPECT_TRUE(seen[i]) << i;
}

TEST_F(df_deques, gives_all_back_when_another_order_comes) {
    for (const std::size_t i : {0, 1, 2}) put(static_cast<unsigned>(i), i);
    ASSERT_TRUE(order->line_up_delayed(2, &units[3], nullptr, 5));
    ASSERT_TRUE(order->line_up(0, &units[4], nullptr, occasion::yielded));
    put(nobody, 5);
    order->retire();
    unsigned got = 0;
    while (const unit *u = made->pick()) got += 1U << (u - units.data());
    EXPECT_EQ(got, 0x3fU);
    EXPECT_FALSE(made->has_work());
}

// To move a creator costs more than a short thread does.
TEST_F(df_deques, keeps_what_a_hart_has_just_put_in_from_thieves_for_a_moment) {
    bool kept = false;
    for (int i = 0; i < 10'000 && !kept; ++i) { // this thread may have lost its core for the moment
        put(0, 0);
        order->keep_for(0);
        const choice c = order->pick_for(1);
        kept = !c.u;
        EXPECT_TRUE(c.u || made->has_work()) << "nobody may leave";
        EXPECT_EQ(kept, c.kept);
        unit *u = c.u;
        while (!u) u = order->pick_for(1).u;
        EXPECT_EQ(u, &units[0]) << "later anybody may have it";
    }
    EXPECT_TRUE(kept);
}

// Harts that put in, take their own, take others', and leave their deques, all at the same time: each unit comes out
// once, and nothing stays in.
TEST_F(df_deques, loses_nothing_and_gives_nothing_twice) {
    constexpr unsigned threads = 4, each = 20'000;
    struct counted : unit {
        std::atomic<unsigned> times{0};
    };
    std::vector<counted> all(threads * each);
    std::atomic<unsigned> out{0};
    const auto note = [&out](unit *u) {
        if (u->run) return; // a dummy
        static_cast<counted *>(u)->times.fetch_add(1);
        out.fetch_add(1);
    };
    const auto work = [&](unsigned hart) {
        std::uint64_t random = hart + 1;
        const auto dice = [&random](unsigned n) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            return static_cast<unsigned>(random >> 33) % n;
        };
        for (unsigned i = 0; i < each;) {
            for (unsigned n = dice(8); n > 0 && i < each; --n) {
                unit *const u = &all[hart * each + i++];
                u->set_rank(dice(16) == 0 ? 1 : 0);
                const unsigned how = dice(16);
                const bool taken = how == 0   ? order->line_up_delayed(hart, u, nullptr, dice(3))
                                   : how == 1 ? order->line_up(hart, u, nullptr, occasion::yielded)
                                              : order->add(hart, u, nullptr, false);
                if (!taken) std::abort();
            }
            for (unsigned n = dice(8); n > 0; --n)
                if (unit *const u = order->pick_for(hart).u) note(u);
        }
        while (out.load() < threads * each)
            if (unit *const u = order->pick_for(hart).u) note(u);
    };
    std::vector<std::thread> harts;
    for (unsigned h = 0; h < threads; ++h) harts.emplace_back(work, h);
    for (std::thread &t : harts) t.join();
    for (const counted &c : all) ASSERT_EQ(c.times.load(), 1U);
    EXPECT_FALSE(made->has_work());
    EXPECT_EQ(order->waiting(), 0U);
}
