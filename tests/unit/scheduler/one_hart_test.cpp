// Progress on the only hart there is: whoever waits by yielding lets everybody else go on, too. A failure is a hang.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

namespace {

void yield_until(const std::atomic<bool> &flag) {
    while (!flag) comity::this_thread::yield();
}

// A thread of the program that needs the hart for a thread of Comity's.
void set_in_a_thread(std::atomic<bool> &flag) {
    comity::thread t([&flag] { flag = true; });
    t.join();
}

// Waits for 1024 threads that yield once, the newest first; how often it found the next one living.
void *join_many_that_yield(void *) {
    std::vector<comity_thread_t *> all(1024);
    static std::size_t ended, waits;
    ended = waits = 0;
    const auto yield_once = [](void *) -> void * {
        comity_thread_yield();
        ++ended;
        return nullptr;
    };
    for (comity_thread_t *&t : all) EXPECT_EQ(comity_thread_create(&t, nullptr, yield_once, nullptr), 0);
    for (std::size_t i = all.size(); i-- > 0;) {
        const std::size_t before = ended;
        EXPECT_EQ(comity_thread_join(all[i], nullptr), 0);
        waits += ended != before;
    }
    EXPECT_EQ(ended, all.size());
    return &waits;
}

} // namespace

TEST(one_hart, a_second_thread_of_the_program_gets_it_from_threads_that_yield) {
    const comity::threads scope;
    std::atomic<bool> stop{false};
    std::vector<comity::thread> busy;
    for (int i = 0; i < 4; ++i) busy.emplace_back([&stop] { yield_until(stop); });
    std::thread second([&stop] { set_in_a_thread(stop); });
    for (comity::thread &t : busy) t.join();
    second.join();
}

TEST(one_hart, a_second_thread_of_the_program_gets_it_from_one_that_yields_itself) {
    for (int i = 0; i < 20; ++i) {
        const comity::threads scope;
        std::atomic<bool> stop{false};
        std::thread second([&stop] { set_in_a_thread(stop); });
        yield_until(stop);
        second.join();
    }
}

TEST(one_hart, threads_of_the_program_that_wait_for_each_other_by_yielding_take_turns) {
    constexpr int count = 3, rounds = 20;
    std::atomic<int> turn{0};
    std::vector<std::thread> all;
    for (int i = 0; i < count; ++i)
        all.emplace_back([&turn, i] {
            const comity::threads scope;
            for (int round = 0; round < rounds; ++round) {
                comity::thread t([&turn, i] {
                    while (turn % count != i) comity::this_thread::yield();
                });
                while (turn % count != i) comity::this_thread::yield();
                t.join();
                ++turn;
            }
        });
    for (std::thread &t : all) t.join();
    EXPECT_EQ(turn, count * rounds);
}

TEST(one_hart, a_thread_woken_from_outside_is_not_starved_by_those_that_yield) {
    const comity::threads scope;
    std::atomic<bool> stop{false}, waits{false};
    comity::event go;
    comity::thread woken([&] {
        waits = true;
        go.wait();
        stop = true;
    });
    yield_until(waits);
    std::vector<comity::thread> busy;
    for (int i = 0; i < 3; ++i) busy.emplace_back([&stop] { yield_until(stop); });
    std::thread outside([&go] { go.set(); });
    for (comity::thread &t : busy) t.join();
    outside.join();
    woken.join();
}

TEST(one_hart, a_scheduler_below_is_not_starved_by_those_that_yield) {
    const comity::threads scope;
    std::atomic<bool> stop{false}, waits{false};
    comity::event go;
    comity::thread below([&] {
        const comity::threads inner;
        comity::thread t([&] {
            waits = true;
            go.wait();
            stop = true;
        });
        t.join();
    });
    yield_until(waits);
    std::vector<comity::thread> busy;
    for (int i = 0; i < 3; ++i) busy.emplace_back([&stop] { yield_until(stop); });
    std::thread outside([&go] { go.set(); });
    for (comity::thread &t : busy) t.join();
    outside.join();
    below.join();
}

// Each thread creates the next one, so that the hart always finds something in its own queue.
namespace {
struct chain {
    comity::technique kind;
    std::atomic<bool> stop{false};
    static void link(chain *c) {
        if (!c->stop) comity::thread({.technique = c->kind, .detached = true}, link, c);
    }
};
} // namespace

TEST(one_hart, the_creator_of_a_chain_of_threads_comes_back_whatever_their_technique) {
    using comity::technique;
    for (const auto kind : {technique::roc_l, technique::full, technique::full_l, technique::roc, technique::ss,
                            technique::ss_l, technique::sc, technique::stackless}) {
        chain c{kind, {}};
        const comity::threads scope;
        chain::link(&c);
        for (int i = 0; i < 5; ++i) comity::this_thread::yield();
        c.stop = true;
    }
}

TEST(one_hart, a_thread_that_sleeps_wakes_while_two_others_hand_a_turn_to_and_fro) {
    const comity::threads scope;
    std::atomic<bool> stop{false};
    comity::semaphore ping(0), pong(0);
    comity::thread first([&] {
        while (!stop) {
            ping.acquire();
            pong.release();
        }
        pong.release();
    });
    comity::thread second([&] {
        while (!stop) {
            ping.release();
            pong.acquire();
        }
        ping.release();
    });
    comity::thread([&] {
        comity_thread_sleep_for(1'000'000);
        stop = true;
    }).join();
}

// A joiner who lets others go on first has announced itself: nobody else may join or detach the thread meanwhile.
TEST(one_hart, a_thread_that_is_joined_is_nobody_elses_from_the_first_look) {
    const comity::threads scope;
    static std::atomic<bool> go, started, joining;
    go = started = joining = false;
    static comity_thread_t *joined;
    const auto create = [](comity_thread_t *&t, void *(*fn)(void *)) {
        ASSERT_EQ(comity_thread_create(&t, nullptr, fn, nullptr), 0);
    };
    create(joined, [](void *) -> void * {
        started = true;
        yield_until(go);
        return &go;
    });
    yield_until(started);
    comity_thread_t *joiner = nullptr;
    create(joiner, [](void *) -> void * {
        joining = true;
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(joined, &result), 0);
        return result;
    });
    yield_until(joining);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(comity_thread_join(joined, nullptr), EINVAL) << i;
        EXPECT_EQ(comity_thread_detach(joined), EINVAL) << i;
        EXPECT_EQ(comity_thread_tryjoin(joined, nullptr), EBUSY) << i;
        EXPECT_EQ(comity_thread_timedjoin(joined, nullptr, comity_now() + 1'000'000'000), EINVAL) << i;
        comity_thread_yield();
    }
    go = true;
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(joiner, &result), 0);
    EXPECT_EQ(result, &go);
}

// The joiner is behind those that are ready, and one more begins each time that it lets them go on: so ever more have
// ended when it comes back.
TEST(one_hart, who_joins_many_that_wait_finds_most_of_them_ended) {
    const comity::threads scope;
    comity_thread_attr_t on_its_own{};
    on_its_own.technique = COMITY_TECHNIQUE_FULL; // else it runs on this thread's stack, and yields as that does
    comity_thread_t *joiner = nullptr;
    ASSERT_EQ(comity_thread_create(&joiner, &on_its_own, join_many_that_yield, nullptr), 0);
    void *waits = nullptr;
    ASSERT_EQ(comity_thread_join(joiner, &waits), 0);
    EXPECT_LE(*static_cast<std::size_t *>(waits), 1024U / 10);
}
