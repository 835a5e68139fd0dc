#include "sys/linked_list.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace {

using comity::sys::counted_list;
using comity::sys::linked_list;

struct item {
    int number = 0;
    item *next = nullptr;
    item *other_next = nullptr;
};

struct by_other {
    static item *&of(item *i) noexcept { return i->other_next; }
};

template <class List> std::vector<int> numbers_of(const List &list) {
    std::vector<int> found;
    list.for_each([&](const item *i) { found.push_back(i->number); });
    return found;
}

struct linked_list_of_four : testing::Test {
    item items[4] = {{0}, {1}, {2}, {3}};
    linked_list<item> list;
    linked_list_of_four() {
        for (item &i : items) list.push_back(&i);
    }
};

using numbers = std::vector<int>;

TEST(linked_list, gives_what_came_first_first) {
    item items[3] = {{0}, {1}, {2}};
    linked_list<item> list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.pop_front(), nullptr);
    list.push_back(&items[1]);
    list.push_back(&items[2]);
    list.push_front(&items[0]);
    for (item &i : items) EXPECT_EQ(list.pop_front(), &i);
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.first(), nullptr);
}

TEST(linked_list, can_be_filled_again_after_it_was_emptied_in_every_way) {
    item a{1}, b{2};
    linked_list<item> list;
    list.push_front(&a);
    list.pop_front();
    list.push_back(&b);
    EXPECT_EQ(numbers_of(list), numbers{2});
    EXPECT_TRUE(list.remove(&b));
    list.push_back(&a);
    EXPECT_EQ(numbers_of(list), numbers{1});
    list.clear();
    list.push_back(&b);
    EXPECT_EQ(numbers_of(list), numbers{2});
    EXPECT_EQ(numbers_of(list.take_all()), numbers{2});
    list.push_back(&a);
    list.push_back(&b);
    EXPECT_EQ(numbers_of(list), (numbers{1, 2}));
}

TEST_F(linked_list_of_four, takes_the_first_that_is_wanted_wherever_it_stands) {
    EXPECT_EQ(list.take_if([](const item *i) { return i->number >= 2; }), &items[2]);
    EXPECT_EQ(numbers_of(list), (numbers{0, 1, 3}));
    EXPECT_EQ(list.take_if([](const item *i) { return i->number == 2; }), nullptr);
    EXPECT_TRUE(list.remove(&items[3]));
    EXPECT_FALSE(list.remove(&items[3]));
    list.push_back(&items[2]); // after the last one was taken
    EXPECT_EQ(numbers_of(list), (numbers{0, 1, 2}));
    EXPECT_TRUE(list.remove(&items[0]));
    EXPECT_EQ(numbers_of(list), (numbers{1, 2}));
}

TEST_F(linked_list_of_four, finds_without_taking) {
    EXPECT_EQ(list.find_if([](const item *i) { return i->number == 3; }), &items[3]);
    EXPECT_EQ(list.find_if([](const item *) { return false; }), nullptr);
    EXPECT_EQ(numbers_of(list), (numbers{0, 1, 2, 3}));
}

TEST_F(linked_list_of_four, is_put_behind_another_one) {
    item more[2] = {{4}, {5}};
    linked_list<item> all, empty;
    all.append(list);
    all.append(empty);
    all.append(linked_list<item>(&more[0]));
    all.push_back(&more[1]);
    EXPECT_EQ(numbers_of(all), (numbers{0, 1, 2, 3, 4, 5}));
}

TEST_F(linked_list_of_four, exchanges_the_first_for_a_last_one) {
    item more{4};
    EXPECT_EQ(list.exchange_front(&more), &items[0]);
    EXPECT_EQ(numbers_of(list), (numbers{1, 2, 3, 4}));
    linked_list<item> one(&items[0]);
    item other{9};
    EXPECT_EQ(one.exchange_front(&other), &items[0]);
    EXPECT_EQ(numbers_of(one), numbers{9});
    one.push_back(&items[0]);
    EXPECT_EQ(numbers_of(one), (numbers{9, 0}));
}

TEST_F(linked_list_of_four, lets_each_item_go_into_another_list) {
    linked_list<item> even, odd;
    list.for_each([&](item *i) { (i->number % 2 ? odd : even).push_back(i); });
    EXPECT_EQ(numbers_of(even), (numbers{0, 2}));
    EXPECT_EQ(numbers_of(odd), (numbers{1, 3}));
}

TEST_F(linked_list_of_four, uses_the_link_that_it_is_told) {
    linked_list<item, by_other> backwards;
    for (item &i : items) backwards.push_front(&i);
    EXPECT_EQ(numbers_of(backwards), (numbers{3, 2, 1, 0}));
    EXPECT_EQ(numbers_of(list), (numbers{0, 1, 2, 3}));
}

TEST(counted_list, knows_how_many_it_holds) {
    item items[5] = {{0}, {1}, {2}, {3}, {4}};
    linked_list<item> two(&items[1]);
    two.push_back(&items[2]);
    counted_list<item> list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.pop_front(), nullptr);
    EXPECT_EQ(list.size(), 0U);
    list.push_back(&items[0]);
    list.append(two, 2);
    list.push_front(&items[3]);
    EXPECT_EQ(list.size(), 4U);
    EXPECT_EQ(list.exchange_front(&items[4]), &items[3]);
    EXPECT_EQ(list.size(), 4U);
    EXPECT_EQ(list.pop_front(), &items[0]);
    EXPECT_TRUE(list.remove(&items[2]));
    EXPECT_FALSE(list.remove(&items[2]));
    EXPECT_EQ(list.take_if([](const item *) { return false; }), nullptr);
    EXPECT_EQ(list.size(), 2U);
    EXPECT_EQ(numbers_of(list), (numbers{1, 4}));
    EXPECT_EQ(numbers_of(list.take_all()), (numbers{1, 4}));
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.first(), nullptr);
}

} // namespace
