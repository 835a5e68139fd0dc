// Pools through the C interface: every access with every order.
#include "comity/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr std::array accesses{COMITY_POOL_PRIVATE, COMITY_POOL_SPSC, COMITY_POOL_SPMC, COMITY_POOL_MPSC,
                              COMITY_POOL_MPMC};

struct units { // n units, by number
    explicit units(std::size_t n) : storage(n), all(n) {
        for (std::size_t i = 0; i < n; ++i) all[i] = comity_unit_init(&storage[i], nullptr, nullptr);
    }
    std::size_t number(const comity_unit_t *u) const {
        return static_cast<std::size_t>(reinterpret_cast<const comity_unit_storage_t *>(u) - storage.data());
    }
    std::vector<comity_unit_storage_t> storage;
    std::vector<comity_unit_t *> all;
};

struct pool_freer {
    void operator()(comity_pool_t *p) const { EXPECT_EQ(comity_pool_free(p), 0); }
};
using pool_handle = std::unique_ptr<comity_pool_t, pool_freer>;

pool_handle make(comity_pool_access_t access, comity_pool_order_t order) {
    comity_pool_t *p = nullptr;
    EXPECT_EQ(comity_pool_create(&p, access, order), 0);
    return pool_handle(p);
}

std::vector<std::size_t> pop_all(comity_pool_t *p, const units &u) {
    std::vector<std::size_t> order;
    for (comity_unit_t *unit = nullptr; comity_pool_pop(p, &unit) == 0;) order.push_back(u.number(unit));
    return order;
}

class every_access : public testing::TestWithParam<comity_pool_access_t> {};
std::string name_of(const testing::TestParamInfo<comity_pool_access_t> &info) {
    return std::array{"private_", "spsc", "spmc", "mpsc", "mpmc"}[info.param];
}
INSTANTIATE_TEST_SUITE_P(pools, every_access, testing::ValuesIn(accesses), name_of);

} // namespace

TEST_P(every_access, fifo_pops_the_oldest_also_when_it_grows_and_shrinks) {
    const units u(4000);
    const pool_handle p = make(GetParam(), COMITY_POOL_FIFO);
    std::size_t pushed = 0, popped = 0;
    comity_unit_t *unit = nullptr;
    EXPECT_EQ(comity_pool_pop(p.get(), &unit), EAGAIN);
    for (int round = 0; round < 3; ++round) { // what was in use is used again
        pushed = popped = 0;
        while (pushed < u.all.size()) {
            for (int i = 0; i < 3 && pushed < u.all.size(); ++i)
                ASSERT_EQ(comity_pool_push(p.get(), u.all[pushed++]), 0);
            ASSERT_EQ(comity_pool_pop(p.get(), &unit), 0);
            ASSERT_EQ(u.number(unit), popped++);
            ASSERT_EQ(comity_pool_size(p.get()), pushed - popped);
        }
        while (comity_pool_pop(p.get(), &unit) == 0) ASSERT_EQ(u.number(unit), popped++);
        ASSERT_EQ(popped, u.all.size());
        ASSERT_EQ(unit, nullptr);
    }
}

TEST_P(every_access, lifo_pops_the_newest) {
    const units u(3000);
    const pool_handle p = make(GetParam(), COMITY_POOL_LIFO);
    std::vector<std::size_t> model;
    std::size_t next = 0;
    comity_unit_t *unit = nullptr;
    while (next < u.all.size()) {
        for (int i = 0; i < 3 && next < u.all.size(); ++i) {
            model.push_back(next);
            ASSERT_EQ(comity_pool_push(p.get(), u.all[next++]), 0);
        }
        ASSERT_EQ(comity_pool_pop(p.get(), &unit), 0);
        ASSERT_EQ(u.number(unit), model.back());
        model.pop_back();
    }
    std::reverse(model.begin(), model.end());
    EXPECT_EQ(pop_all(p.get(), u), model);
}

TEST_P(every_access, priority_pops_the_oldest_of_the_highest) {
    const units u(2000);
    const pool_handle p = make(GetParam(), COMITY_POOL_PRIORITY);
    const auto priority = [](std::size_t i) { return static_cast<unsigned char>(i * 97 % 256); };
    for (std::size_t i = 0; i < u.all.size(); ++i) {
        comity_unit_set_priority(u.all[i], priority(i));
        ASSERT_EQ(comity_unit_priority(u.all[i]), priority(i));
        ASSERT_EQ(comity_pool_push(p.get(), u.all[i]), 0);
    }
    std::vector<std::size_t> expected(u.all.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i;
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::size_t a, std::size_t b) { return priority(a) > priority(b); });
    EXPECT_EQ(pop_all(p.get(), u), expected);
}

TEST_P(every_access, a_higher_priority_that_comes_later_overtakes) {
    const units u(3);
    const pool_handle p = make(GetParam(), COMITY_POOL_PRIORITY);
    comity_unit_set_priority(u.all[1], 255);
    comity_unit_set_priority(u.all[2], 64);
    comity_unit_t *unit = nullptr;
    for (int round = 0; round < 3; ++round) {
        comity_pool_push(p.get(), u.all[0]);
        comity_pool_push(p.get(), u.all[2]);
        EXPECT_EQ(comity_pool_pop(p.get(), &unit), 0);
        EXPECT_EQ(unit, u.all[2]);
        comity_pool_push(p.get(), u.all[1]);
        EXPECT_EQ(pop_all(p.get(), u), (std::vector<std::size_t>{1, 0}));
    }
}

TEST_P(every_access, random_pops_each_once_in_an_order_that_the_seed_gives) {
    const units u(200);
    const auto order = [&](std::uint64_t seed) {
        const pool_handle p = make(GetParam(), COMITY_POOL_RANDOM);
        EXPECT_EQ(comity_pool_set_seed(p.get(), seed), 0);
        for (comity_unit_t *unit : u.all) EXPECT_EQ(comity_pool_push(p.get(), unit), 0);
        return pop_all(p.get(), u);
    };
    const auto one = order(1), two = order(2);
    EXPECT_EQ(one, order(1));
    EXPECT_NE(one, two);
    auto sorted = one;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
    ASSERT_EQ(sorted.size(), u.all.size());
    EXPECT_NE(one, sorted);
}

TEST(random_pool, pops_each_unit_about_as_often_as_the_others) {
    const units u(8);
    const pool_handle p = make(COMITY_POOL_PRIVATE, COMITY_POOL_RANDOM);
    for (comity_unit_t *unit : u.all) comity_pool_push(p.get(), unit);
    std::array<int, 8> times{};
    for (int i = 0; i < 80'000; ++i) {
        comity_unit_t *unit = nullptr;
        comity_pool_pop(p.get(), &unit);
        ++times[u.number(unit)];
        comity_pool_push(p.get(), unit);
    }
    for (const int n : times) EXPECT_NEAR(n, 10'000, 500); // five standard deviations
    pop_all(p.get(), u);
}

TEST_P(every_access, many_at_once_keep_the_order) {
    const units u(1000);
    std::vector<comity_unit_t *> out(600);
    for (const auto order : {COMITY_POOL_FIFO, COMITY_POOL_LIFO, COMITY_POOL_PRIORITY}) {
        const pool_handle p = make(GetParam(), order);
        std::size_t n = 77;
        ASSERT_EQ(comity_pool_push_many(p.get(), u.all.data(), 0, &n), 0);
        EXPECT_EQ(n, 0U);
        ASSERT_EQ(comity_pool_push_many(p.get(), u.all.data(), 400, &n), 0);
        EXPECT_EQ(n, 400U);
        ASSERT_EQ(comity_pool_push_many(p.get(), u.all.data() + 400, 600, nullptr), 0);
        EXPECT_EQ(comity_pool_size(p.get()), 1000U);
        std::size_t all = 0;
        for (const std::size_t expected : {600U, 400U, 0U}) {
            ASSERT_EQ(comity_pool_pop_many(p.get(), out.data(), out.size(), &n), 0);
            ASSERT_EQ(n, expected);
            for (std::size_t i = 0; i < n; ++i, ++all)
                ASSERT_EQ(u.number(out[i]), order == COMITY_POOL_LIFO ? 999 - all : all);
        }
    }
}

TEST_P(every_access, removes_a_unit_wherever_it_stands) {
    const units u(1200);
    for (const auto order : {COMITY_POOL_FIFO, COMITY_POOL_LIFO, COMITY_POOL_PRIORITY, COMITY_POOL_RANDOM}) {
        const pool_handle p = make(GetParam(), order);
        EXPECT_EQ(comity_pool_remove(p.get(), u.all[0]), ENOENT);
        for (comity_unit_t *unit : u.all) comity_pool_push(p.get(), unit);
        std::vector<std::size_t> expected;
        for (std::size_t i = 0; i < u.all.size(); ++i) {
            if (i != 0 && i != 599 && i != 600 && i != 1199) {
                expected.push_back(i);
                continue;
            }
            ASSERT_EQ(comity_pool_remove(p.get(), u.all[i]), 0) << order << ' ' << i;
            ASSERT_EQ(comity_pool_remove(p.get(), u.all[i]), ENOENT);
        }
        EXPECT_EQ(comity_pool_size(p.get()), 1196U);
        comity_pool_push(p.get(), u.all[600]); // and it can come again
        expected.push_back(600);
        auto order_seen = pop_all(p.get(), u);
        EXPECT_EQ(comity_pool_size(p.get()), 0U);
        if (order == COMITY_POOL_LIFO) std::reverse(order_seen.begin(), order_seen.end());
        if (order == COMITY_POOL_RANDOM) {
            std::sort(order_seen.begin(), order_seen.end());
            std::sort(expected.begin(), expected.end());
        }
        EXPECT_EQ(order_seen, expected) << order;
    }
}

TEST_P(every_access, is_empty_when_the_only_unit_is_removed) {
    const units u(1);
    for (const auto order : {COMITY_POOL_FIFO, COMITY_POOL_LIFO, COMITY_POOL_PRIORITY, COMITY_POOL_RANDOM}) {
        const pool_handle p = make(GetParam(), order);
        for (int i = 0; i < 1000; ++i) {
            ASSERT_EQ(comity_pool_push(p.get(), u.all[0]), 0);
            ASSERT_FALSE(comity_pool_is_empty(p.get()));
            ASSERT_EQ(comity_pool_remove(p.get(), u.all[0]), 0);
            ASSERT_TRUE(comity_pool_is_empty(p.get()));
            comity_unit_t *unit = u.all[0];
            if (i % 3 == 0) {
                ASSERT_EQ(comity_pool_pop(p.get(), &unit), EAGAIN);
            }
        }
    }
}

TEST_P(every_access, shows_its_units_in_the_order_of_the_pops) {
    const units u(700);
    for (const auto order : {COMITY_POOL_FIFO, COMITY_POOL_LIFO, COMITY_POOL_PRIORITY}) {
        const pool_handle p = make(GetParam(), order);
        for (comity_unit_t *unit : u.all) comity_pool_push(p.get(), unit);
        comity_pool_remove(p.get(), u.all[300]);
        comity_unit_t *first = nullptr;
        comity_pool_pop(p.get(), &first);
        std::vector<comity_unit_t *> seen;
        EXPECT_EQ(
            comity_pool_for_each(
                p.get(),
                [](void *to, comity_unit_t *unit) { static_cast<std::vector<comity_unit_t *> *>(to)->push_back(unit); },
                &seen),
            0);
        std::vector<std::size_t> numbers;
        for (comity_unit_t *unit : seen) numbers.push_back(u.number(unit));
        EXPECT_EQ(numbers, pop_all(p.get(), u)) << order;
        EXPECT_EQ(numbers.size(), 698U);
    }
}

TEST_P(every_access, prints_one_line) {
    const units u(2);
    const pool_handle p = make(GetParam(), COMITY_POOL_PRIORITY);
    char *text = nullptr;
    std::size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    comity_pool_push(p.get(), u.all[0]);
    comity_pool_print(p.get(), file);
    comity_pool_push(p.get(), u.all[1]);
    comity_pool_print(p.get(), file);
    std::fclose(file);
    const std::string name = name_of({GetParam(), 0}), seen = text;
    std::free(text);
    EXPECT_NE(seen.find(name.substr(0, 4)), std::string::npos) << seen;
    EXPECT_NE(seen.find("priority, 1 unit\n"), std::string::npos) << seen;
    EXPECT_NE(seen.find("priority, 2 units\n"), std::string::npos) << seen;
    pop_all(p.get(), u);
}
