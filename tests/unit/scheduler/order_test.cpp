// With one hart each kind of scheduler runs units in the order that it promises.
#include "comity/scheduler.hpp"
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <vector>

namespace {

using comity::scheduler_kind;

std::vector<int> up_to(int n) {
    std::vector<int> v(static_cast<std::size_t>(n));
    std::iota(v.begin(), v.end(), 0);
    return v;
}
std::vector<int> reversed(std::vector<int> v) {
    std::reverse(v.begin(), v.end());
    return v;
}

// Creates n threads, and says in which order they started.
template <class Scheduler> std::vector<int> start(Scheduler &&s, int n, unsigned (*priority)(int) = nullptr) {
    std::vector<int> order;
    comity::scheduled_threads scope(s);
    std::vector<comity::thread> threads;
    for (int i = 0; i < n; ++i)
        threads.emplace_back(
            comity::thread::attributes{.priority = static_cast<unsigned char>(priority ? priority(i) : 0)},
            [&order, i] { order.push_back(i); });
    for (comity::thread &t : threads) t.join();
    return order;
}

// Threads that yield twice each, and say when they are there.
std::vector<int> yield_twice(scheduler_kind k) {
    std::vector<int> order;
    const comity::scheduled_threads scope(k);
    std::vector<comity::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&order, i] {
            for (int n = 0; n < 3; ++n) {
                order.push_back(10 * n + i);
                comity::this_thread::yield();
            }
        });
    for (comity::thread &t : threads) t.join();
    return order;
}

// Threads wait for an event each; the events are set in turn; says who went on when.
std::vector<int> wake(scheduler_kind k, unsigned (*priority)(int) = nullptr) {
    constexpr int n = 5;
    std::vector<int> order;
    const comity::scheduled_threads scope(k);
    std::vector<comity::event> go(n);
    std::vector<comity::thread> threads;
    for (int i = 0; i < n; ++i)
        threads.emplace_back(
            comity::thread::attributes{.priority = static_cast<unsigned char>(priority ? priority(i) : 0)},
            [&order, &go, i] {
                go[static_cast<std::size_t>(i)].wait();
                order.push_back(i);
            });
    comity::thread waker([&go] {
        for (int i = 0; i < n; ++i) comity::this_thread::yield(); // all wait by now
        for (comity::event &e : go) e.set();
    });
    for (comity::thread &t : threads) t.join();
    waker.join();
    return order;
}

} // namespace

TEST(order, fifo_starts_the_oldest_first) { EXPECT_EQ(start(scheduler_kind::fifo, 100), up_to(100)); }

TEST(order, lifo_starts_the_newest_first) { EXPECT_EQ(start(scheduler_kind::lifo, 100), reversed(up_to(100))); }

TEST(order, priority_starts_the_highest_first_and_the_oldest_of_equals) {
    const std::vector<int> order =
        start(scheduler_kind::priority, 100, [](int i) { return static_cast<unsigned>(i % 10) * 28; });
    std::vector<int> expected = up_to(100);
    std::stable_sort(expected.begin(), expected.end(), [](int a, int b) { return a % 10 > b % 10; });
    EXPECT_EQ(order, expected);
}

TEST(order, priority_has_256_levels) {
    EXPECT_EQ(start(scheduler_kind::priority, 256, [](int i) { return static_cast<unsigned>(i); }),
              reversed(up_to(256)));
}

TEST(order, random_starts_in_an_order_that_the_seed_gives) {
    const auto with_seed = [](std::uint64_t seed) {
        return start(comity::scheduled_threads::attributes{.kind = scheduler_kind::random, .seed = seed}, 100);
    };
    std::vector<int> first = with_seed(7);
    EXPECT_EQ(with_seed(7), first);
    EXPECT_NE(with_seed(8), first);
    EXPECT_NE(first, up_to(100));
    std::sort(first.begin(), first.end());
    EXPECT_EQ(first, up_to(100));
}

TEST(order, who_yields_goes_behind_all) {
    const std::vector<int> rounds{0, 1, 2, 10, 11, 12, 20, 21, 22};
    EXPECT_EQ(yield_twice(scheduler_kind::fifo), rounds);
    EXPECT_EQ(yield_twice(scheduler_kind::priority), rounds);
    EXPECT_EQ(yield_twice(scheduler_kind::lifo), (std::vector<int>{2, 1, 0, 12, 11, 10, 22, 21, 20}));
}

TEST(order, contexts_that_may_go_on_keep_it_too) {
    EXPECT_EQ(wake(scheduler_kind::fifo), up_to(5));
    EXPECT_EQ(wake(scheduler_kind::lifo), reversed(up_to(5)));
    EXPECT_EQ(wake(scheduler_kind::priority, [](int i) { return static_cast<unsigned>(i); }), reversed(up_to(5)));
}

// Two that wake each other are always newer than whoever waits below them, be it ready or one that yields.
TEST(order, lifo_lets_whoever_is_overtaken_go_within_a_bounded_time) {
    const comity::scheduled_threads scope(scheduler_kind::lifo);
    bool stop = false;
    int yields = 0;
    comity::semaphore turns[2] = {comity::semaphore(0), comity::semaphore(0)};
    comity::thread oldest([&] { stop = yields > 2; });
    comity::thread yielder([&] {
        while (!stop && yields < 3) {
            ++yields;
            comity::this_thread::yield();
        }
        stop = true;
    });
    const auto wake_the_other = [&](int self) {
        do {
            turns[1 - self].release();
            turns[self].acquire();
        } while (!stop);
        turns[1 - self].release();
    };
    comity::thread one([&] { wake_the_other(0); }), other([&] { wake_the_other(1); });
    for (comity::thread *t : {&one, &other, &oldest, &yielder}) t->join();
    EXPECT_EQ(yields, 3);
}

TEST(order, a_thread_that_joins_waits_its_turn_like_any_other) {
    std::vector<int> order;
    const comity::scheduled_threads scope(scheduler_kind::priority);
    comity::thread low({.priority = 1}, [&order] {
        comity::thread first({.priority = 9}, [&order] { order.push_back(1); });
        comity::thread second({.priority = 8}, [&order] { order.push_back(2); });
        first.join();
        order.push_back(3);
    });
    low.join();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(order, a_programs_own_thread_that_yields_keeps_it) {
    std::vector<int> order;
    const comity::scheduled_threads scope(scheduler_kind::fifo);
    std::vector<comity::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&order, i] { order.push_back(i); });
    comity::this_thread::yield();
    order.push_back(100);
    threads.emplace_back([&order] { order.push_back(3); });
    comity::this_thread::yield();
    order.push_back(101);
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 100, 3, 101}));
}

TEST(order, a_users_order_decides) {
    struct evens_first {
        std::deque<comity_unit_t *> even, odd, others;
        void push(comity_unit_t *u, comity::occasion why) {
            if (why != comity::occasion::created)
                others.push_back(u);
            else
                (comity_unit_priority(u) % 2 ? odd : even).push_back(u);
        }
        comity_unit_t *pick() {
            for (auto *from : {&others, &even, &odd})
                if (!from->empty()) {
                    comity_unit_t *u = from->front();
                    from->pop_front();
                    return u;
                }
            return nullptr;
        }
        bool has_work() { return !(even.empty() && odd.empty() && others.empty()); }
    };
    std::vector<int> expected = up_to(20);
    std::stable_partition(expected.begin(), expected.end(), [](int i) { return i % 2 == 0; });
    evens_first order;
    EXPECT_EQ(start(order, 20, [](int i) { return static_cast<unsigned>(i); }), expected);
}

TEST(order, what_a_users_order_has_no_room_for_runs_all_the_same) {
    struct refuses {
        static void push(comity_unit_t *, comity::occasion) { throw 1; }
        static comity_unit_t *pick() { return nullptr; }
        static bool has_work() { return false; }
    } order;
    EXPECT_EQ(start(order, 20), up_to(20));
}
