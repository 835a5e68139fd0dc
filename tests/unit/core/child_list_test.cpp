// The list of children that want harts, with schedulers that nobody runs.
#include "core/child_list.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

using comity::core::child_list;
using comity::core::sched;

namespace {

struct child : sched {
    explicit child(unsigned wanted) : sched{} { want(wanted); }
};

std::vector<sched *> pick_all(child_list &list) {
    std::vector<sched *> picked;
    while (sched *s = list.pick()) picked.push_back(s);
    return picked;
}

} // namespace

TEST(child_list, children_that_want_several_harts_take_turns) {
    child a(2), b(1), c(3);
    child_list list;
    for (child *s : {&a, &b, &c}) list.add(s);
    EXPECT_EQ(pick_all(list), (std::vector<sched *>{&a, &b, &c, &a, &c, &c}));
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(sched::harts_of(c.account), 3u);
    EXPECT_EQ(sched::wanted_of(c.account), 0u);
}

TEST(child_list, a_child_that_asks_again_keeps_its_one_place) {
    child a(1), b(1);
    child_list list;
    for (child *s : {&a, &b, &a, &b}) list.add(s);
    EXPECT_EQ(pick_all(list), (std::vector<sched *>{&a, &b}));
    a.want(1);
    list.add(&a);
    EXPECT_EQ(pick_all(list), (std::vector<sched *>{&a}));
}

TEST(child_list, a_child_that_wants_no_more_is_passed_over) {
    child a(1), b(1);
    child_list list;
    list.add(&a);
    list.add(&b);
    a.want_none();
    EXPECT_EQ(list.pick(), &b);
    EXPECT_TRUE(list.empty());
    a.want(1);
    list.add(&a); // it was taken out, and comes in again
    EXPECT_EQ(list.pick(), &a);
}

TEST(child_list, a_child_that_ends_is_gone_wherever_it_stood) {
    for (unsigned at = 0; at < 3; ++at) {
        child children[3] = {child(1), child(1), child(1)}, late(1);
        child_list list;
        for (child &s : children) list.add(&s);
        list.forget(&children[at]);
        list.forget(&children[at]); // not there: nothing happens
        list.add(&late);
        std::vector<sched *> others;
        for (unsigned i = 0; i < 3; ++i)
            if (i != at) others.push_back(&children[i]);
        others.push_back(&late);
        EXPECT_EQ(pick_all(list), others) << at;
    }
}

TEST(child_list, starves_means_a_child_without_any_hart) {
    child none(2), some(2);
    child_list list;
    EXPECT_FALSE(list.starves());
    some.account += sched::one_hart;
    list.add(&some);
    EXPECT_FALSE(list.starves());
    list.add(&none);
    EXPECT_TRUE(list.starves());
    list.forget(&none);
    EXPECT_FALSE(list.starves());
}

TEST(child_list, never_looks_empty_while_a_child_waits_in_it) {
    constexpr unsigned wanted = 60'000, rounds = 50;
    child a(wanted);
    child_list list;
    list.add(&a);
    std::atomic<bool> watching{false}, over{false};
    unsigned seen_empty = 0;
    std::thread watcher([&] {
        watching = true;
        while (!over) seen_empty += list.empty();
    });
    while (!watching) std::this_thread::yield();
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned i = 1; i < wanted; ++i) EXPECT_EQ(list.pick(), &a);
        a.want(wanted);
    }
    over = true;
    watcher.join();
    EXPECT_EQ(seen_empty, 0u);
    EXPECT_FALSE(list.empty());
}

TEST(child_list, a_forked_child_has_an_empty_list_that_works) {
    child a(1), b(1);
    child_list list;
    list.add(&a);
    list.add(&b);
    list.before_fork();
    list.drop_after_fork();
    EXPECT_TRUE(list.empty());
    list.forget(&b);
    list.add(&b);
    EXPECT_EQ(pick_all(list), (std::vector<sched *>{&b}));
}
