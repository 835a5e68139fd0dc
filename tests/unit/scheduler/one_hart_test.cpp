// Progress on the only hart there is: whoever waits by yielding lets everybody else go on, too. A failure is a hang.
// The same with two.
#include "comity/core.h"
#include "comity/fork.hpp"
#include "comity/scheduler.hpp"
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

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

// A Comity thread that sleeps in the kernel, or loops, for what needs the hart that it has.
using waits_for = void (*)();

void joins_a_scope_of_another() {
    std::thread other([] {
        const comity::threads scope;
        std::atomic<bool> done{false};
        set_in_a_thread(done);
    });
    other.join();
}
void reads_from_a_sibling() {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    comity::thread sibling([&] { EXPECT_EQ(write(ends[1], "x", 1), 1); });
    char c = 0;
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    sibling.join();
    close(ends[0]);
    close(ends[1]);
}
void loops_for_a_sibling() {
    std::atomic<bool> flag{false};
    comity::thread sibling([&] { flag = true; });
    while (!flag) {
    }
    sibling.join();
}
void opens_a_scope_below() {
    const comity::threads scope;
    comity::thread t([&] { joins_a_scope_of_another(); });
    t.join();
}

class lends : public testing::TestWithParam<waits_for> {};

template <comity::technique how> void run_on_joiner(waits_for f) {
    comity::basic_thread<how> t(f);
    t.join();
}
template <comity::technique how> void run_by_the_scheduler(waits_for f) {
    comity::event ended;
    comity::basic_thread<how> t([&] {
        f();
        ended.set();
    });
    ended.wait();
    t.join();
}
template <comity::technique how> void run_both(waits_for f) {
    const comity::threads scope;
    for (int i = 0; i < 3; ++i) {
        run_on_joiner<how>(f);
        run_by_the_scheduler<how>(f);
    }
}

} // namespace

TEST_P(lends, called_and_return) {
    run_both<comity::technique::roc_l>(GetParam());
    run_both<comity::technique::ss>(GetParam());
}
TEST_P(lends, switched_to) { run_both<comity::technique::full_l>(GetParam()); }
TEST_P(lends, child_first) { run_both<comity::technique::c_roc_e>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(one_hart, lends,
                         testing::Values(joins_a_scope_of_another, reads_from_a_sibling, loops_for_a_sibling,
                                         opens_a_scope_below));

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

// ---- The program's first thread keeps the hart in its scheduler while it waits in the kernel, or in a loop.

TEST(one_hart, a_thread_is_joined_by_another_one_of_the_program_while_its_creator_waits_for_that) {
    comity::thread t([] {});
    std::thread joiner([&t] { t.join(); });
    joiner.join();
    comity::thread([] {}).join();
}

TEST(one_hart, another_thread_of_the_program_has_threads_of_its_own_beside_a_scope_whose_opener_waits_for_it) {
    const comity::threads scope;
    bool ran = false;
    std::thread other([&ran] {
        const comity::threads own;
        comity::thread([&ran] { ran = true; }).join();
    });
    other.join();
    EXPECT_TRUE(ran);
}

TEST(one_hart, threads_run_while_the_opener_of_their_scope_waits_in_the_kernel_for_what_they_do) {
    const comity::threads scope;
    for (int i = 0; i < 3; ++i) {
        std::promise<int> p;
        comity::thread t([&] { p.set_value(i); });
        EXPECT_EQ(p.get_future().get(), i); // a wait of the C++ library's
        t.join();
    }
}

TEST(one_hart, threads_run_while_the_opener_of_their_scope_looks_again_and_again_whether_they_have) {
    const comity::threads scope;
    std::atomic<bool> flag{false};
    comity::thread t([&flag] { flag = true; });
    while (!flag) {
    }
    t.join();
}

// The opener's hart has gone on without it, and it comes back.
TEST(one_hart, the_opener_of_a_scope_goes_on_in_it_after_such_a_wait) {
    const auto wait_in_the_kernel = [] {
        std::promise<void> p;
        comity::thread t({.detached = true}, [&] { p.set_value(); });
        p.get_future().wait();
    };
    {
        const comity::threads scope;
        wait_in_the_kernel();
        EXPECT_NE(comity_scheduler_self(), nullptr);
        wait_in_the_kernel();
        int sum = 0;
        comity::join([&] { sum += 1; }, [&] { sum += 2; });
        EXPECT_EQ(sum, 3);
        comity::join([&] { wait_in_the_kernel(); }, [&] { sum += 3; });
        EXPECT_EQ(sum, 6);
        {
            wait_in_the_kernel();
            const comity::threads inner;
            comity::thread([&] { sum = 7; }).join();
        }
        EXPECT_EQ(sum, 7);
        wait_in_the_kernel();
    }
    EXPECT_EQ(comity_scheduler_self(), nullptr);
    std::thread other([&] { // whose end finds the scheduler that its first thread was created in
        comity::thread t([] {});
        wait_in_the_kernel();
        t.join();
    });
    other.join();
}

TEST(one_hart, the_child_of_a_fork_ends_a_scope_in_which_its_thread_had_left_the_hart) {
    const comity::threads scope;
    std::promise<void> p;
    comity::thread t([&] { p.set_value(); });
    p.get_future().wait();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(30);
        int result = 1;
        comity::thread([&result] { result = 0; }).join();
        ::_exit(result);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    t.join();
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
    if (comity_hart_count() != 1) GTEST_SKIP() << "goes by the order on one hart";
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
    if (comity_hart_count() != 1) GTEST_SKIP() << "goes by the order on one hart";
    const comity::threads scope;
    comity_thread_attr_t on_its_own{};
    on_its_own.technique = COMITY_TECHNIQUE_FULL; // else it runs on this thread's stack, and yields as that does
    comity_thread_t *joiner = nullptr;
    ASSERT_EQ(comity_thread_create(&joiner, &on_its_own, join_many_that_yield, nullptr), 0);
    void *waits = nullptr;
    ASSERT_EQ(comity_thread_join(joiner, &waits), 0);
    EXPECT_LE(*static_cast<std::size_t *>(waits), 1024U / 10);
}
