// What holds for every kind of scheduler, with one hart and with several.
#include "kinds.hpp"

#include "comity/sync.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <thread>

namespace {

class every_kind : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(all, every_kind, testing::Range(0, kinds::count),
                         [](const auto &i) { return kinds::names.at(static_cast<unsigned>(i.param)); });

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void sleep_ms(int n) { std::this_thread::sleep_for(std::chrono::milliseconds(n)); }

// A tree of threads, each joined by its parent; yields on the way.
int count_leaves(int depth, comity::technique t) {
    if (depth == 0) return 1;
    int a = 0, b = 0;
    comity::thread left({.technique = t, .priority = static_cast<unsigned char>(depth)},
                        [&a, depth, t] { a = count_leaves(depth - 1, t); });
    comity::thread right([&b, depth, t] {
        comity::this_thread::yield();
        b = count_leaves(depth - 1, t);
    });
    left.join();
    right.join();
    return a + b;
}

} // namespace

TEST_P(every_kind, runs_threads_of_all_techniques) {
    const kinds::scope s(GetParam());
    for (const comity::technique t : kinds::techniques) {
        if (t == comity::technique::stackless) {
            std::atomic<int> ran{0};
            std::vector<comity::thread> all;
            for (int i = 0; i < 20; ++i)
                all.emplace_back(comity::thread::attributes{.technique = t}, [&ran] { ++ran; });
            for (comity::thread &one : all) one.join();
            EXPECT_EQ(ran, 20);
        } else {
            EXPECT_EQ(count_leaves(6, t), 64);
        }
    }
}

TEST_P(every_kind, says_what_it_is) {
    const kinds::scope s(GetParam());
    EXPECT_EQ(kinds::info().kind, GetParam());
    EXPECT_EQ(kinds::info().most_harts, static_cast<unsigned>(comity_hart_count()));
    EXPECT_GE(kinds::info().harts, 1U);
}

TEST_P(every_kind, wakes_contexts_from_threads_of_the_program) {
    const kinds::scope s(GetParam());
    for (int round = 0; round < 20; ++round) {
        comity::event go;
        comity::thread waits([&go] { go.wait(); });
        std::thread outside([&go] { go.set(); });
        waits.join();
        outside.join();
    }
}

TEST_P(every_kind, lets_a_programs_own_thread_wait_and_yield) {
    const kinds::scope s(GetParam());
    comity::event there, back;
    comity::thread t([&] {
        there.wait();
        back.set();
    });
    for (int i = 0; i < 50; ++i) comity::this_thread::yield();
    there.set();
    back.wait();
    t.join();
}

TEST_P(every_kind, waits_at_its_end_for_detached_threads) {
    std::atomic<int> ran{0};
    {
        const kinds::scope s(GetParam());
        for (int i = 0; i < 50; ++i)
            comity::thread({.detached = true}, [&ran] {
                comity::this_thread::yield();
                ++ran;
            });
    }
    EXPECT_EQ(ran, 50);
}

TEST_P(every_kind, nests_in_every_other) {
    const kinds::scope s(GetParam());
    std::array<int, kinds::count> leaves{};
    std::vector<comity::thread> threads;
    for (int inner = 0; inner < kinds::count; ++inner)
        threads.emplace_back([&leaves, inner] {
            // Both could have the same pools: a unit would come to the wrong scheduler.
            const kinds::scope below(inner == COMITY_SCHEDULER_POOLS ? COMITY_SCHEDULER_FIFO : inner);
            leaves.at(static_cast<unsigned>(inner)) = count_leaves(5, comity::technique::roc_l);
        });
    for (comity::thread &t : threads) t.join();
    for (const int n : leaves) EXPECT_EQ(n, 32);
}

TEST_P(every_kind, uses_no_cpu_while_nothing_runs) {
    const kinds::scope s(GetParam());
    comity::event go;
    std::vector<comity::thread> waiting;
    for (int i = 0; i < 8; ++i) waiting.emplace_back([&go] { go.wait(); });
    std::atomic<bool> idle{false};
    std::thread outside([&] {
        // On a busy machine it may take some time until all wait. A single hart that looked for work would use all of
        // it.
        for (int i = 0; i < 100 && !idle; ++i) {
            sleep_ms(10);
            const double before = cpu_seconds();
            sleep_ms(100);
            idle = cpu_seconds() - before < 0.002;
        }
        go.set();
    });
    for (comity::thread &t : waiting) t.join();
    outside.join();
    EXPECT_TRUE(idle);
}

TEST_P(every_kind, becomes_every_other_while_threads_wait) {
    for (int to = 0; to < kinds::count; ++to) {
        const kinds::scope s(GetParam());
        std::atomic<int> ran{0};
        comity::event go;
        std::vector<comity::thread> threads;
        for (int i = 0; i < 40; ++i)
            threads.emplace_back([&ran, &go, i] {
                if (i % 3 == 0) go.wait();
                if (i % 3 == 1) comity::this_thread::yield();
                ++ran;
            });
        comity::this_thread::yield();
        kinds::replace(to);
        EXPECT_EQ(kinds::info().kind, to);
        for (int i = 0; i < 40; ++i) threads.emplace_back([&ran] { ++ran; });
        go.set();
        for (comity::thread &t : threads) t.join();
        EXPECT_EQ(ran, 80);
    }
    EXPECT_EQ(kinds::users_order::living(), 0);
}

TEST_P(every_kind, is_replaced_by_a_thread_of_its_own) {
    const kinds::scope s(GetParam());
    std::atomic<int> ran{0};
    std::vector<comity::thread> threads;
    for (int i = 0; i < 100; ++i)
        threads.emplace_back([&ran, i] {
            if (i % 10 == 0) kinds::replace(i / 10 % kinds::count);
            comity::this_thread::yield();
            ++ran;
        });
    for (comity::thread &t : threads) t.join();
    EXPECT_EQ(ran, 100);
}

TEST_P(every_kind, keeps_to_its_limit_of_harts) {
    const unsigned all = static_cast<unsigned>(comity_hart_count());
    const kinds::scope s(GetParam(), 1);
    EXPECT_EQ(kinds::info().most_harts, 1U);
    std::atomic<int> inside{0}, most{0};
    std::vector<comity::thread> threads;
    for (int i = 0; i < 200; ++i)
        threads.emplace_back([&] {
            const int now = ++inside;
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
            for (int spins = 0; spins < 100; ++spins) most.load();
            --inside;
        });
    for (comity::thread &t : threads) t.join();
    EXPECT_EQ(most, 1);
    // And with all of them again: another hart comes while this one computes.
    EXPECT_EQ(comity_scheduler_set_harts(0), 0);
    EXPECT_EQ(kinds::info().most_harts, all);
    if (all < 2) return;
    std::atomic<bool> ran{false};
    comity::thread t([&ran] { ran = true; });
    EXPECT_TRUE(kinds::comes_true([&ran] { return ran.load(); }));
    t.join();
}

TEST_P(every_kind, gives_harts_away_when_its_limit_falls) {
    const int all = comity_hart_count();
    const kinds::scope s(GetParam());
    std::atomic<bool> stop{false};
    std::vector<comity::thread> busy;
    for (int i = 0; i < 4 * all; ++i)
        busy.emplace_back([&stop] {
            while (!stop) comity::this_thread::yield();
        });
    const auto harts_become = [](unsigned n) {
        // Seen by a thread of the scheduler: one of the program's comes back with its own hart to look.
        comity::thread looks([n] {
            EXPECT_TRUE(kinds::comes_true([n] {
                comity::this_thread::yield();
                return kinds::info().harts == n;
            }));
        });
        looks.join();
    };
    for (int round = 0; round < 3; ++round) {
        harts_become(static_cast<unsigned>(all));
        EXPECT_EQ(comity_scheduler_set_harts(1), 0);
        harts_become(1);
        EXPECT_EQ(comity_scheduler_set_harts(0), 0);
    }
    stop = true;
    for (comity::thread &t : busy) t.join();
}

// ---- Pools and units of the user's

TEST(pools, units_that_come_from_outside_run) {
    comity_pool_t *pool = nullptr;
    ASSERT_EQ(comity_pool_create(&pool, COMITY_POOL_MPMC, COMITY_POOL_FIFO), 0);
    comity_scheduler_attr_t a{};
    a.kind = COMITY_SCHEDULER_POOLS;
    a.pools = &pool;
    a.pool_count = 1;
    ASSERT_EQ(comity_threads_begin_with(&a), 0);
    comity_scheduler_t *const s = comity_scheduler_self();
    ASSERT_NE(s, nullptr);
    comity::event all_ran;
    struct counter {
        std::atomic<int> left{100};
        comity::event *done = nullptr;
    } c;
    c.done = &all_ran;
    std::vector<comity_unit_storage_t> units(100);
    std::thread outside([&] {
        for (auto &storage : units) {
            comity_unit_t *u = comity_unit_init(
                &storage,
                [](void *arg) {
                    auto *c = static_cast<counter *>(arg);
                    if (--c->left == 0) c->done->set();
                },
                &c);
            EXPECT_EQ(comity_pool_push(pool, u), 0);
            comity_scheduler_notify(s);
        }
    });
    all_ran.wait();
    outside.join();
    comity_threads_end();
    EXPECT_EQ(comity_pool_free(pool), 0);
}

TEST(pools, units_of_the_users_that_moved_run_before_the_end) {
    comity_pool_t *pool = nullptr;
    ASSERT_EQ(comity_pool_create(&pool, COMITY_POOL_MPMC, COMITY_POOL_FIFO), 0);
    comity_scheduler_attr_t a{};
    a.kind = COMITY_SCHEDULER_POOLS;
    a.pools = &pool;
    a.pool_count = 1;
    ASSERT_EQ(comity_threads_begin_with(&a), 0);
    std::atomic<int> ran{0};
    std::vector<comity_unit_storage_t> units(20);
    for (auto &storage : units)
        ASSERT_EQ(
            comity_pool_push(pool, comity_unit_init(
                                       &storage, [](void *arg) { ++*static_cast<std::atomic<int> *>(arg); }, &ran)),
            0);
    a.kind = COMITY_SCHEDULER_LIFO;
    ASSERT_EQ(comity_scheduler_replace(&a), 0);
    comity_threads_end();
    EXPECT_EQ(ran, 20);
    EXPECT_EQ(comity_pool_free(pool), 0);
}

// ---- Bad input

TEST(bad_input, is_an_error_and_changes_nothing) {
    comity_scheduler_attr_t a{};
    a.kind = static_cast<comity_scheduler_kind_t>(99);
    EXPECT_EQ(comity_threads_begin_with(&a), EINVAL);
    EXPECT_EQ(comity_scheduler_self(), nullptr);

    a.kind = COMITY_SCHEDULER_USER;
    EXPECT_EQ(comity_threads_begin_with(&a), EINVAL); // no functions
    comity_scheduler_functions_t f = kinds::users_functions;
    a.functions = &f;
    f.pick = nullptr;
    EXPECT_EQ(comity_threads_begin_with(&a), EINVAL);
    f = kinds::users_functions;
    f.init = [](void *, void **) { return E2BIG; };
    EXPECT_EQ(comity_threads_begin_with(&a), E2BIG);

    a.kind = COMITY_SCHEDULER_POOLS;
    EXPECT_EQ(comity_threads_begin_with(&a), EINVAL); // no pools
    comity_pool_t *pool = nullptr;
    ASSERT_EQ(comity_pool_create(&pool, COMITY_POOL_MPSC, COMITY_POOL_FIFO), 0);
    a.pools = &pool;
    a.pool_count = 1;
    EXPECT_EQ(comity_threads_begin_with(&a), EINVAL); // many must be able to pop
    EXPECT_EQ(comity_pool_free(pool), 0);

    const kinds::scope s(COMITY_SCHEDULER_FIFO);
    a.pools = nullptr;
    EXPECT_EQ(comity_scheduler_replace(&a), EINVAL);
    EXPECT_EQ(kinds::info().kind, COMITY_SCHEDULER_FIFO);
}

TEST(bad_input, outside_a_scheduler_of_threads_is_not_permitted) {
    comity_scheduler_info_t i{};
    EXPECT_EQ(comity_scheduler_replace(nullptr), EPERM);
    EXPECT_EQ(comity_scheduler_set_harts(1), EPERM);
    EXPECT_EQ(comity_scheduler_get_info(&i), EPERM);
    EXPECT_EQ(comity_scheduler_self(), nullptr);
    EXPECT_THROW(comity::this_scheduler::set_harts(1), std::system_error);
}

TEST(bad_input_death, notify_of_nothing_is_named) {
    EXPECT_DEATH(comity_scheduler_notify(nullptr), "comity_scheduler_notify");
}

// Nothing but that the line does not blame a call.
TEST(bad_input_death, of_a_unit_that_is_none_is_no_calls_fault) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto give_none = [] {
        comity_scheduler_functions_t order{};
        order.push = [](void *, comity_unit_t *, comity_occasion_t) { return 0; };
        order.pick = [](void *) { return reinterpret_cast<comity_unit_t *>(std::uintptr_t{64}); };
        order.has_work = [](void *) { return 1; };
        comity_scheduler_attr_t a{};
        a.kind = COMITY_SCHEDULER_USER;
        a.functions = &order;
        comity_threads_begin_with(&a);
        comity_thread_t *t = nullptr;
        comity_thread_create(
            &t, nullptr, [](void *p) { return p; }, nullptr);
        comity_thread_join(t, nullptr);
    };
    EXPECT_EXIT(give_none(), testing::KilledBySignal(SIGSEGV), "in Comity, in no call of the program's");
}

// ---- Scopes end in the reverse order

class scopes_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    static constexpr const char *named = "comity_threads_end: .* ends before one that the same context opened later";
};

TEST_F(scopes_death, of_threads_that_end_in_the_wrong_order) {
    const auto end_older_first = [] {
        auto *older = new comity::threads, *newer = new comity::threads;
        delete older;
        delete newer;
    };
    EXPECT_DEATH(end_older_first(), named);
}

TEST_F(scopes_death, of_an_order_that_end_in_the_wrong_order) {
    const auto end_older_first = [] {
        auto *older = new comity::scheduled_threads(comity::scheduler_kind::fifo);
        auto *newer = new comity::threads;
        delete older;
        delete newer;
    };
    EXPECT_DEATH(end_older_first(), named);
}

TEST(scopes, end_after_their_order_was_replaced) {
    comity::threads outer;
    {
        comity::threads inner;
        comity::this_scheduler::replace(comity::scheduler_kind::lifo);
    }
    comity::thread t([] {});
    t.join();
}
