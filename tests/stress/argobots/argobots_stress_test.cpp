// Many streams on few harts, threads of the program among them: nobody is lost, nothing runs twice.
#include <abt.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#define OK(call) ASSERT_EQ(ABT_SUCCESS, call)

namespace {

class argobots_stress : public ::testing::Test {
protected:
    void SetUp() override { OK(ABT_init(0, nullptr)); }
    void TearDown() override {
        for (ABT_xstream &s : streams) OK(ABT_xstream_free(&s));
        OK(ABT_finalize());
    }
    void add(ABT_sched_predef kind, int n, std::vector<ABT_pool> of = {}) {
        for (int i = 0; i < n; ++i) {
            ABT_xstream s = ABT_XSTREAM_NULL;
            ABT_pool p = ABT_POOL_NULL;
            OK(ABT_xstream_create_basic(kind, static_cast<int>(of.size()), of.empty() ? nullptr : of.data(),
                                        ABT_SCHED_CONFIG_NULL, &s));
            OK(ABT_xstream_get_main_pools(s, 1, &p));
            streams.push_back(s);
            pools.push_back(p);
        }
    }
    std::vector<ABT_xstream> streams;
    std::vector<ABT_pool> pools;
};

TEST_F(argobots_stress, streams_that_sleep_are_woken_by_every_push) {
    add(ABT_SCHED_BASIC, 4);
    static std::atomic<int> ran;
    ran = 0;
    constexpr int rounds = 3000;
    for (int i = 0; i < rounds; ++i) {
        ABT_thread t = ABT_THREAD_NULL;
        OK(ABT_thread_create(
            pools[static_cast<unsigned>(i) % 4], [](void *) { ++ran; }, nullptr, ABT_THREAD_ATTR_NULL, &t));
        if (i % 512 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2)); // they sleep meanwhile
        OK(ABT_thread_free(&t));
    }
    EXPECT_EQ(rounds, ran.load());
}

// With as many harts as streams, each stream has one: ULTs may wait for each other without telling Argobots.
struct meeting {
    unsigned wanted = 0;
    std::atomic<unsigned> here{0};
    std::atomic<bool> late{false};
    ABT_pool of_primary = ABT_POOL_NULL;
    ABT_thread last = ABT_THREAD_NULL;

    void await_all() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        ++here;
        while (here < wanted && !late)
            if (std::chrono::steady_clock::now() > until) late = true;
    }
};

TEST_F(argobots_stress, streams_run_side_by_side_while_there_are_harts) {
    meeting m;
    m.wanted = static_cast<unsigned>(std::atoi(std::getenv("COMITY_HARTS")));
    add(ABT_SCHED_BASIC, static_cast<int>(m.wanted) - 1);
    ABT_xstream primary = ABT_XSTREAM_NULL;
    OK(ABT_self_get_xstream(&primary));
    OK(ABT_xstream_get_main_pools(primary, 1, &m.of_primary));
    const auto attend = [](void *arg) {
        ABT_thread_yield();
        static_cast<meeting *>(arg)->await_all();
    };
    // The primary stream sleeps by then: its thread, which comes for it, may meet another stream first.
    const auto call_the_last = [](void *arg) {
        auto *m = static_cast<meeting *>(arg);
        ABT_thread_yield();
        while (m->here < m->wanted - 2) {
        }
        EXPECT_EQ(ABT_SUCCESS, ABT_thread_create(
                                   m->of_primary, [](void *to) { static_cast<meeting *>(to)->await_all(); }, m,
                                   ABT_THREAD_ATTR_NULL, &m->last));
        m->await_all();
    };
    const auto nothing = [](void *) { ABT_thread_yield(); };
    for (int round = 0; round < 60 && !m.late; ++round) {
        m.here = 0;
        std::vector<ABT_thread> all;
        for (ABT_pool p : pools)
            for (int i = 0; i < 3; ++i) {
                ABT_thread t = ABT_THREAD_NULL;
                void (*const fn)(void *) = i != 1 ? nothing : p == pools.front() ? call_the_last : attend;
                OK(ABT_thread_create(p, fn, &m, ABT_THREAD_ATTR_NULL, &t));
                all.push_back(t);
            }
        for (ABT_thread &t : all) OK(ABT_thread_free(&t));
        OK(ABT_thread_free(&m.last));
        if (round % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2)); // the others sleep meanwhile
    }
    EXPECT_FALSE(m.late) << "a stream had no hart";
}

TEST_F(argobots_stress, threads_of_the_program_and_ults_meet_at_every_object) {
    add(ABT_SCHED_BASIC, 3);
    struct shared {
        ABT_mutex m;
        ABT_cond c;
        ABT_barrier b;
        int turn = 0, sum = 0;
    };
    static shared s;
    s = {};
    OK(ABT_mutex_create(&s.m));
    OK(ABT_cond_create(&s.c));
    constexpr int parties = 8, rounds = 200;
    OK(ABT_barrier_create(parties, &s.b));
    // Each has its turn; the condition is broadcast, and some waits have a time.
    const auto body = [](void *argument) {
        const int me = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
        for (int i = 0; i < rounds; ++i) {
            ABT_mutex_lock(s.m);
            while (s.turn % parties != me) {
                timespec t{};
                clock_gettime(CLOCK_REALTIME, &t);
                t.tv_nsec += 500'000;
                if (t.tv_nsec >= 1'000'000'000) t.tv_nsec -= 1'000'000'000, ++t.tv_sec;
                if (i % 4)
                    ABT_cond_wait(s.c, s.m);
                else
                    ABT_cond_timedwait(s.c, s.m, &t);
            }
            ++s.turn;
            s.sum += me;
            ABT_cond_broadcast(s.c);
            ABT_mutex_unlock(s.m);
            if (i % 8 == 0) ABT_barrier_wait(s.b);
        }
    };
    std::vector<ABT_thread> ults;
    std::vector<std::thread> outside;
    for (std::intptr_t i = 0; i < parties; ++i) {
        if (i % 4 == 3) {
            outside.emplace_back(body, reinterpret_cast<void *>(i));
            continue;
        }
        ABT_thread t = ABT_THREAD_NULL;
        OK(ABT_thread_create(pools[static_cast<std::size_t>(i) % 3], body, reinterpret_cast<void *>(i),
                             ABT_THREAD_ATTR_NULL, &t));
        ults.push_back(t);
    }
    for (ABT_thread &t : ults) OK(ABT_thread_free(&t));
    for (std::thread &t : outside) t.join();
    EXPECT_EQ(parties * rounds, s.turn);
    EXPECT_EQ(rounds * parties * (parties - 1) / 2, s.sum);
    OK(ABT_mutex_free(&s.m));
    OK(ABT_cond_free(&s.c));
    OK(ABT_barrier_free(&s.b));
}

TEST_F(argobots_stress, a_tree_of_ults_in_pools_that_streams_steal_from) {
    std::vector<ABT_pool> all(4);
    for (ABT_pool &p : all) OK(ABT_pool_create_basic(ABT_POOL_RANDWS, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &p));
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::rotate(all.begin(), all.begin() + 1, all.end());
        add(ABT_SCHED_RANDWS, 1, all);
    }
    struct node {
        ABT_pool pool;
        int depth;
        std::atomic<int> *leaves;
        static void run(void *argument) {
            auto *n = static_cast<node *>(argument);
            if (n->depth == 0) {
                ++*n->leaves;
                return;
            }
            node child[2] = {{n->pool, n->depth - 1, n->leaves}, {n->pool, n->depth - 1, n->leaves}};
            ABT_thread t[2] = {};
            for (int i = 0; i < 2; ++i) ABT_thread_create(n->pool, run, &child[i], ABT_THREAD_ATTR_NULL, &t[i]);
            for (ABT_thread &c : t) ABT_thread_free(&c);
        }
    };
    std::atomic<int> leaves{0};
    node root{pools[0], 10, &leaves};
    ABT_thread t = ABT_THREAD_NULL;
    OK(ABT_thread_create(pools[0], node::run, &root, ABT_THREAD_ATTR_NULL, &t));
    OK(ABT_thread_free(&t));
    EXPECT_EQ(1 << 10, leaves.load());
}

TEST_F(argobots_stress, suspend_and_resume_race_and_none_is_lost) {
    add(ABT_SCHED_BASIC, 3);
    constexpr int pairs = 6, rounds = 300;
    struct pair {
        std::atomic<int> asked{0}, served{0};
        ABT_thread sleeper = ABT_THREAD_NULL;
    };
    std::unique_ptr<pair[]> p(new pair[pairs]);
    const auto sleeps = [](void *argument) {
        auto *mine = static_cast<pair *>(argument);
        for (int i = 0; i < rounds; ++i) {
            ++mine->asked;
            ABT_self_suspend();
            ++mine->served;
        }
    };
    const auto wakes = [](void *argument) {
        auto *mine = static_cast<pair *>(argument);
        for (int i = 0; i < rounds; ++i)
            while (ABT_thread_resume(mine->sleeper) != ABT_SUCCESS) ABT_thread_yield();
    };
    std::vector<ABT_thread> wakers(pairs);
    for (std::size_t i = 0; i < pairs; ++i) {
        OK(ABT_thread_create(pools[i % 3], sleeps, &p[i], ABT_THREAD_ATTR_NULL, &p[i].sleeper));
        OK(ABT_thread_create(pools[(i + 1) % 3], wakes, &p[i], ABT_THREAD_ATTR_NULL, &wakers[i]));
    }
    for (std::size_t i = 0; i < pairs; ++i) {
        OK(ABT_thread_free(&wakers[i]));
        OK(ABT_thread_free(&p[i].sleeper));
        EXPECT_EQ(rounds, p[i].served.load());
    }
}

TEST_F(argobots_stress, the_main_ult_is_taken_up_by_everybody) {
    ABT_xstream primary = ABT_XSTREAM_NULL;
    ABT_pool shared = ABT_POOL_NULL;
    OK(ABT_self_get_xstream(&primary));
    OK(ABT_xstream_get_main_pools(primary, 1, &shared));
    add(ABT_SCHED_BASIC, 3, {shared});
    const std::thread::id me = std::this_thread::get_id();
    for (int i = 0; i < 3000; ++i) {
        if (i % 3 == 0) {
            ABT_thread t = ABT_THREAD_NULL;
            OK(ABT_thread_create(
                shared, [](void *) { ABT_thread_yield(); }, nullptr, ABT_THREAD_ATTR_NULL, &t));
            OK(ABT_thread_free(&t));
        } else {
            OK(ABT_thread_yield());
        }
        ASSERT_EQ(me, std::this_thread::get_id());
    }
    for (ABT_xstream &s : streams) {
        OK(ABT_xstream_join(s)); // it may run on that one
        for (ABT_bool on = ABT_FALSE;; ABT_thread_yield()) {
            OK(ABT_self_on_primary_xstream(&on));
            if (on) break;
        }
    }
}

TEST_F(argobots_stress, streams_come_and_go_with_work_in_their_pools) {
    static std::atomic<int> ran;
    ran = 0;
    constexpr int rounds = 150;
    for (int i = 0; i < rounds; ++i) {
        add(ABT_SCHED_BASIC, 3);
        for (ABT_pool p : pools)
            for (int j = 0; j < 4; ++j)
                OK(ABT_thread_create(
                    p,
                    [](void *) {
                        ABT_thread_yield();
                        ++ran;
                    },
                    nullptr, ABT_THREAD_ATTR_NULL, nullptr));
        for (ABT_xstream &s : streams) OK(ABT_xstream_free(&s));
        streams.clear();
        pools.clear();
    }
    EXPECT_EQ(rounds * 12, ran.load());
}

} // namespace
