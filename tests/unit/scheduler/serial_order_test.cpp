// The serial order by itself, and the policy over it: positions, who is leftmost, dummies.
#include "scheduler/policy/descent.hpp"
#include "scheduler/policy/serial_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

using namespace comity;
using namespace comity::scheduler;

namespace {

// Inserts n positions, each beside one that `choose` says, and compares with a plain sequence.
template <class Choose> void expect_order(std::size_t n, Choose choose) {
    serial_order order;
    std::vector<position> made(n);
    std::vector<position *> expected;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = expected.empty() ? 0 : choose(i, expected.size());
        if (expected.empty() || at == expected.size())
            order.insert_left_of(&made[i], nullptr);
        else if (i % 3 != 0 || at == 0)
            order.insert_left_of(&made[i], expected[at]);
        else
            order.insert_right_of(&made[i], expected[at - 1]);
        expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), &made[i]);
    }
    const position *p = order.first();
    for (std::size_t i = 0; i < n; p = p->right, ++i) {
        ASSERT_EQ(p, expected[i]);
        ASSERT_TRUE(i == 0 || p->label > expected[i - 1]->label);
    }
    EXPECT_EQ(p, nullptr);
}

} // namespace

TEST(serial_order, labels_rise_wherever_positions_are_inserted) {
    std::mt19937 random(1);
    expect_order(3000, [](std::size_t, std::size_t) { return 0; });
    expect_order(3000, [](std::size_t, std::size_t size) { return size; });
    expect_order(3000, [](std::size_t, std::size_t size) { return size - 1; });
    expect_order(3000, [](std::size_t, std::size_t size) { return size / 2; });
    expect_order(3000, [&random](std::size_t, std::size_t size) { return random() % (size + 1); });
    expect_order(3000, [](std::size_t i, std::size_t size) { return i % 2 ? 0 : size / 2; });
}

// All at one point, which is the worst case: the steps grow as n log n, so twice as many cost little more than twice.
TEST(serial_order, a_million_positions_at_one_point_are_inserted_in_no_time) {
    constexpr std::size_t n = 1'000'000;
    serial_order order;
    std::vector<position> made(n);
    order.insert_left_of(&made[0], nullptr);
    order.insert_left_of(&made[1], nullptr);
    for (std::size_t i = 2; i < n; ++i) order.insert_left_of(&made[i], &made[1]);
    std::size_t rising = 1;
    for (const position *p = order.first(); p->right; p = p->right) rising += p->label < p->right->label;
    EXPECT_EQ(rising, n);
}

TEST(serial_order, the_leftmost_of_those_that_are_ready_comes_first) {
    std::mt19937 random(1);
    std::vector<position> all(1000);
    std::vector<std::uint64_t> labels(all.size()), left;
    for (std::size_t i = 0; i < all.size(); ++i) labels[i] = all[i].label = i;
    leftmost_first ready;
    const auto pop = [&] {
        const auto least = std::min_element(left.begin(), left.end());
        ASSERT_EQ(ready.top()->label, *least);
        left.erase(least);
        ready.pop();
    };
    std::shuffle(labels.begin(), labels.end(), random);
    for (const std::uint64_t l : labels) {
        ready.push(&all[l]);
        left.push_back(l);
        if (random() % 3 == 0) pop();
    }
    while (!left.empty()) pop();
    EXPECT_EQ(ready.top(), nullptr);
}

// ---- The policy

namespace {

class by_descent : public testing::TestWithParam<comity_scheduler_kind_t> {
protected:
    void SetUp() override {
        comity_scheduler_attr_t a{};
        a.kind = GetParam();
        a.quota = 1000;
        int error = 0;
        made.reset(make_policy(a, error));
        ASSERT_NE(made, nullptr);
        order = made->by_descent;
        for (unit &u : units) u.tracked = tracking::told;
    }
    std::array<unit, 8> units;
    std::unique_ptr<policy> made;
    descent *order = nullptr;

    unit *add(std::size_t i, unit *creator, bool starts = false) {
        EXPECT_TRUE(order->add(0, &units[i], creator, starts));
        return &units[i];
    }
    void line_up(std::size_t i, std::uint64_t dummies = 0) {
        EXPECT_TRUE(order->line_up_delayed(0, &units[i], &units[i], dummies));
    }
    unit *pick_for(unsigned hart, bool &is_kept) {
        const choice c = order->pick_for(hart);
        is_kept = c.kept;
        return c.u;
    }
};
INSTANTIATE_TEST_SUITE_P(all, by_descent, testing::Values(COMITY_SCHEDULER_SPACE_EFFICIENT));

} // namespace

TEST_P(by_descent, keeps_the_position_of_a_thread_until_its_end) {
    unit *const root = add(0, nullptr, true);
    for (const std::size_t i : {1, 2, 3}) add(i, root, true);
    add(4, &units[2], true);
    for (const std::size_t i : {0, 3, 1, 4, 2}) line_up(i);
    for (const std::size_t i : {1, 4, 2, 3, 0}) EXPECT_EQ(order->pick(), &units[i]);
    EXPECT_EQ(order->pick(), nullptr);
    order->end(&units[2]);
    add(5, &units[3]);
    line_up(4);
    line_up(3);
    for (const std::size_t i : {4, 5, 3}) EXPECT_EQ(order->pick(), &units[i]);
    EXPECT_FALSE(order->has_work());
}

TEST_P(by_descent, lets_a_creator_go_on_while_some_of_what_it_created_is_left_for_others) {
    unit *const root = add(0, nullptr, true);
    for (const std::size_t i : {1, 2, 3, 4}) add(i, root);
    add(5, root, true);
    EXPECT_TRUE(order->line_up_early(0, root, root, 2));
    for (const std::size_t i : {1, 2, 0}) EXPECT_EQ(order->pick(), &units[i]);
    add(6, root); // its place in the order is what it was
    for (const std::size_t i : {3, 4, 6}) EXPECT_EQ(order->pick(), &units[i]);
    EXPECT_FALSE(order->has_work());
}

TEST_P(by_descent, lets_a_creator_go_on_first_where_none_is_left) {
    unit *const root = add(0, nullptr, true);
    add(1, root, true);
    EXPECT_TRUE(order->line_up_early(0, root, root, 3));
    add(2, &units[1]);
    EXPECT_EQ(order->pick(), &units[2]); // whoever comes left of it still goes before it
    EXPECT_EQ(order->pick(), root);
    EXPECT_EQ(order->pick(), nullptr);
}

TEST_P(by_descent, runs_a_dummy_for_each_quota_of_a_large_allocation) {
    unit *const root = add(0, nullptr, true);
    add(1, root, true); // executes, left of all
    add(2, root, true);
    line_up(2, 3);
    line_up(0);
    for (int i = 0; i < 3; ++i) {
        unit *const dummy = order->pick();
        ASSERT_NE(dummy, nullptr);
        ASSERT_TRUE(dummy != &units[2] && dummy != &units[0]);
        dummy->run(dummy, nullptr);
        EXPECT_TRUE(order->has_work());
    }
    EXPECT_EQ(order->pick(), &units[2]);
    EXPECT_EQ(order->pick(), &units[0]);
}

TEST_P(by_descent, lets_whoever_comes_left_of_it_go_before_the_dummies_that_are_left) {
    unit *const root = add(0, nullptr, true);
    add(1, root, true);
    add(2, root, true);
    line_up(2, 3);
    order->pick();
    line_up(1);
    EXPECT_EQ(order->pick(), &units[1]);
    for (int i = 0; i < 2; ++i) EXPECT_NE(order->pick(), &units[2]);
    EXPECT_EQ(order->pick(), &units[2]);
}

// What it allocates one hart alone would allocate now.
TEST_P(by_descent, holds_back_nobody_who_has_none_left_of_him) {
    unit *const root = add(0, nullptr, true);
    add(1, root, true);
    line_up(1, 1'000'000);
    EXPECT_EQ(order->pick(), &units[1]);
    line_up(0, 2);
    EXPECT_NE(order->pick(), &units[0]);
    order->end(&units[1]);
    EXPECT_EQ(order->pick(), &units[0]);
}

TEST_P(by_descent, gives_units_that_are_not_tracked_a_position_while_they_wait) {
    unit *const root = add(0, nullptr, true);
    for (const std::size_t i : {1, 2}) units[i].tracked = tracking::none;
    add(1, root); // a half of a fork: for later
    line_up(2);   // somebody's context: behind all
    line_up(0);
    for (const std::size_t i : {0, 1, 2}) EXPECT_EQ(order->pick(), &units[i]);
    EXPECT_EQ(units[1].tracked, tracking::none);
}

TEST_P(by_descent, knows_who_would_be_next) {
    unit *const root = add(0, nullptr, true);
    add(1, root, true);
    add(2, root, true);
    EXPECT_TRUE(order->is_next(0, root));
    line_up(1);
    EXPECT_FALSE(order->is_next(0, &units[2]));
    EXPECT_EQ(order->pick(), &units[1]);
    line_up(0);
    EXPECT_TRUE(order->is_next(0, &units[2]));
    units[0].set_rank(1);
    order->pick();
    line_up(0);
    EXPECT_FALSE(order->is_next(0, &units[2]));
}

// Those that never end, and are ready again and again, would keep it waiting for ever.
TEST_P(by_descent, lets_whoever_is_overtaken_go_within_a_bounded_time) {
    unit *const root = add(0, nullptr, true);
    for (const std::size_t i : {1, 2, 3}) add(i, root, true);
    line_up(2);
    line_up(3, 1'000'000);
    EXPECT_TRUE(order->line_up(0, root, root, occasion::yielded));
    std::array<bool, 4> seen{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    line_up(1);
    while (std::chrono::steady_clock::now() < end && !(seen[0] && seen[2] && seen[3])) {
        const unit *const u = order->pick();
        for (const std::size_t i : {0, 2, 3}) seen[i] = seen[i] || u == &units[i];
        if (u == &units[1]) line_up(1);
    }
    EXPECT_TRUE(seen[2]);
    EXPECT_TRUE(seen[3]) << "dummies";
    EXPECT_TRUE(seen[0]) << "who has yielded";
}

TEST_P(by_descent, forgets_all_positions_when_another_order_comes) {
    unit *const root = add(0, nullptr, true);
    add(1, root);
    add(2, root);
    line_up(0, 5);
    order->retire();
    for (const unit &u : units) EXPECT_NE(u.tracked, tracking::positioned);
    for (const std::size_t i : {1, 2, 0}) EXPECT_EQ(order->pick(), &units[i]);
    EXPECT_EQ(order->pick(), nullptr);
}

TEST_P(by_descent, keeps_what_a_hart_has_just_put_in_from_others_for_a_moment) {
    bool is_kept = false;
    add(0, nullptr, true);
    bool kept = false;
    for (int i = 0; i < 10'000 && !kept; ++i) { // this thread may have lost its core for the moment
        line_up(0);
        order->keep_for(3);
        unit *const others = pick_for(1, is_kept);
        kept = !others && is_kept;
        EXPECT_TRUE(others || order->has_work()) << "nobody may leave";
        EXPECT_EQ(others ? others : pick_for(3, is_kept), &units[0]);
        EXPECT_FALSE(is_kept);
    }
    EXPECT_TRUE(kept);
}

TEST_P(by_descent, leaves_what_its_hart_does_not_come_for_to_others) {
    bool is_kept = false;
    add(0, nullptr, true);
    line_up(0);
    order->keep_for(3);
    unit *taken = nullptr;
    while (!taken) taken = pick_for(1, is_kept);
    EXPECT_EQ(taken, &units[0]);
}

// Or threads that are all short would stay on one hart. It puts in and comes at once, as fast as it can.
TEST_P(by_descent, keeps_not_each_one) {
    bool is_kept = false;
    add(0, nullptr, true);
    unsigned open = 0;
    for (int i = 0; i < 1000; ++i) {
        line_up(0);
        order->keep_for(3);
        unit *u = pick_for(1, is_kept);
        if (u) ++open;
        if (!u) pick_for(3, is_kept);
    }
    EXPECT_GE(open, 1000U / 64);
}

TEST_P(by_descent, keeps_nothing_left_of_which_somebody_comes) {
    bool is_kept = false;
    unit *const root = add(0, nullptr, true);
    add(1, root, true);
    line_up(0);
    order->keep_for(3);
    line_up(1);
    EXPECT_EQ(pick_for(1, is_kept), &units[1]);
    EXPECT_EQ(pick_for(1, is_kept), &units[0]);
}
