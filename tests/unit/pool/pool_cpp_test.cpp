#include "comity/pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <concepts>
#include <thread>
#include <vector>

using comity::function_unit;
using comity::pool;
using comity::pool_access;
using comity::pool_order;

// What an access forbids does not compile.
template <class Pool> using producer_of = decltype(std::declval<Pool &>().producer());
template <class Pool> using consumer_of = decltype(std::declval<Pool &>().consumer());
static_assert(!std::copy_constructible<producer_of<comity::pool_spsc>>);
static_assert(!std::copy_constructible<consumer_of<comity::pool_spsc>>);
static_assert(!std::copy_constructible<producer_of<comity::pool_spmc>>);
static_assert(std::copy_constructible<consumer_of<comity::pool_spmc>>);
static_assert(std::copy_constructible<producer_of<comity::pool_mpsc>>);
static_assert(!std::copy_constructible<consumer_of<comity::pool_mpsc>>);
static_assert(std::copy_constructible<producer_of<comity::pool_mpmc>>);
static_assert(std::move_constructible<producer_of<comity::pool_spsc>>);
static_assert(!std::is_copy_assignable_v<consumer_of<comity::pool_mpsc>>);
static_assert(!std::copy_constructible<comity::pool_private>);
template <class T>
concept can_pop = requires(T t) {
    t.pop();
};
static_assert(!can_pop<producer_of<comity::pool_mpmc>> && can_pop<consumer_of<comity::pool_mpmc>>);

TEST(pool_cpp, runs_units_by_priority) {
    pool p(pool_access::mpmc, pool_order::priority);
    std::vector<int> seen;
    function_unit low([&] { seen.push_back(1); });
    function_unit high([&] { seen.push_back(2); }, 200);
    p.push(low.handle());
    p.push(high.handle());
    EXPECT_EQ(p.size(), 2U);
    while (comity_unit_t *u = p.pop()) EXPECT_EQ(comity_unit_run(u), 0);
    EXPECT_EQ(seen, (std::vector{2, 1}));
    EXPECT_TRUE(p.empty());
}

TEST(pool_cpp, takes_many_at_once_and_removes) {
    pool p(pool_access::spsc);
    function_unit a([] {});
    function_unit b([] {});
    function_unit c([] {});
    const std::array in{&a.handle(), &b.handle(), &c.handle()};
    p.push(in);
    EXPECT_TRUE(p.remove(b.handle()));
    EXPECT_FALSE(p.remove(b.handle()));
    std::array<comity_unit_t *, 8> out{};
    const auto got = p.pop(out);
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(got[0], &a.handle());
    EXPECT_EQ(got[1], &c.handle());
    EXPECT_EQ(p.pop(), nullptr);
}

TEST(pool_cpp, forgets_its_units_at_its_end) {
    function_unit u([] {});
    for (int i = 0; i < 3; ++i) {
        pool p(pool_access::mpsc, pool_order::lifo);
        p.push(u.handle());
    }
    pool p(pool_access::mpsc);
    p.push(u.handle());
    EXPECT_EQ(p.pop(), &u.handle());
}

TEST(pool_cpp, an_error_is_thrown) {
    pool fifo(pool_access::mpmc);
    EXPECT_THROW(fifo.seed(1), std::system_error);
    EXPECT_THROW(pool(static_cast<pool_access>(9)), std::system_error);
    try {
        fifo.own(COMITY_POOL_PRODUCER, COMITY_POOL_OWNER_HART);
        ADD_FAILURE();
    } catch (const std::system_error &e) {
        EXPECT_EQ(e.code().value(), EINVAL);
    }
    comity_pool_functions_t none{};
    EXPECT_THROW(pool(pool_access::mpmc, none, nullptr), std::system_error);
    // A pool that refuses as if there were no memory.
    comity_pool_functions_t full{};
    full.push = [](void *, comity_unit_t *) { return ENOMEM; };
    full.pop = [](void *) -> comity_unit_t * { return nullptr; };
    full.size = [](void *) -> std::size_t { return 0; };
    pool p(pool_access::one, full, nullptr);
    function_unit u([] {});
    EXPECT_THROW(p.push(u.handle()), std::bad_alloc);
}

TEST(pool_cpp, the_only_end_is_given_out_once_at_a_time) {
    comity::pool_spsc p;
    {
        auto in = p.producer();
        EXPECT_THROW(p.producer(), std::system_error);
        auto moved = std::move(in);
        EXPECT_THROW(p.producer(), std::system_error);
        auto out = p.consumer();
        EXPECT_THROW(p.consumer(), std::system_error);
    }
    auto in = p.producer();
    auto out = p.consumer();
    function_unit u([] {});
    in.push(u.handle());
    EXPECT_EQ(out.pop(), &u.handle());
    EXPECT_TRUE(p.empty());
}

TEST(pool_cpp, ends_for_many_are_copied) {
    comity::pool_mpsc p;
    std::vector<comity_unit_storage_t> storage(4000);
    std::vector<std::thread> threads;
    const auto in = p.producer();
    for (std::size_t t = 0; t < 4; ++t)
        threads.emplace_back([&storage, t, mine = in]() mutable {
            for (std::size_t i = t; i < storage.size(); i += 4)
                mine.push(*comity_unit_init(
                    &storage[i], [](void *n) { ++*static_cast<int *>(n); }, nullptr));
        });
    auto out = p.consumer();
    std::size_t got = 0;
    while (got < storage.size())
        if (out.pop()) ++got;
    for (std::thread &t : threads) t.join();
    EXPECT_EQ(out.pop(), nullptr);
}
