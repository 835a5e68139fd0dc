#include "pool/deque.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

using comity::pool::deque;

TEST(deque, pops_the_newest_and_steals_the_oldest) {
    deque<int> d;
    int a = 0, b = 0, c = 0;
    EXPECT_EQ(d.pop(), nullptr);
    EXPECT_EQ(d.steal(), nullptr);
    for (int *item : {&a, &b, &c}) EXPECT_TRUE(d.push(item));
    EXPECT_EQ(d.steal(), &a);
    EXPECT_EQ(d.pop(), &c);
    EXPECT_EQ(d.pop(), &b);
    EXPECT_EQ(d.pop(), nullptr);
    EXPECT_TRUE(d.empty());
}

TEST(deque, takes_back_only_the_newest) {
    deque<int> d(false);
    int a = 0, b = 0;
    EXPECT_FALSE(d.pop_if(&a));
    d.push(&a);
    d.push(&b);
    EXPECT_FALSE(d.pop_if(&a));
    EXPECT_TRUE(d.pop_if(&b));
    EXPECT_TRUE(d.pop_if(&a));
    EXPECT_FALSE(d.pop_if(&a));
    EXPECT_EQ(d.pop(), nullptr);
}

TEST(deque, keeps_its_order_when_it_grows_and_wraps) {
    deque<std::size_t> d;
    std::vector<std::size_t> items(5000);
    std::size_t pushed = 0, stolen = 0;
    while (pushed < items.size()) { // three in, one out: wraps in a ring of every size
        for (int i = 0; i < 3 && pushed < items.size(); ++i) ASSERT_TRUE(d.push(&items[pushed++]));
        ASSERT_EQ(d.steal(), &items[stolen++]);
    }
    while (std::size_t *item = d.pop()) ASSERT_EQ(item, &items[--pushed]);
    EXPECT_EQ(pushed, stolen);
}
