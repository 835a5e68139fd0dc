#include "environment.hpp"

#include <cstdlib>

namespace {

TEST_F(argobots, ults_and_tasklets_run_once_and_are_joined) {
    add_streams(2);
    static std::atomic<int> ran;
    ran = 0;
    std::vector<ABT_thread> units;
    for (int i = 0; i < 300; ++i) {
        ABT_thread t = ABT_THREAD_NULL;
        const auto fn = [](void *) { ++ran; };
        if (i % 2)
            OK(ABT_thread_create(pools[i % 3U], fn, nullptr, ABT_THREAD_ATTR_NULL, &t));
        else
            OK(ABT_task_create(pools[i % 3U], fn, nullptr, &t));
        units.push_back(t);
    }
    OK(ABT_thread_join_many(300, units.data()));
    OK(ABT_thread_join_many(300, units.data())) << "joining twice is allowed";
    EXPECT_EQ(300, ran.load());
    for (ABT_thread &t : units) {
        ABT_thread_state state = ABT_THREAD_STATE_READY;
        OK(ABT_thread_get_state(t, &state));
        EXPECT_EQ(ABT_THREAD_STATE_TERMINATED, state);
    }
    OK(ABT_thread_free_many(300, units.data()));
    EXPECT_EQ(ABT_THREAD_NULL, units[0]);
}

TEST_F(argobots, yield_lets_the_others_run_in_turn) {
    std::vector<int> order;
    std::function<void()> a = [&] {
        order.push_back(1);
        ABT_thread_yield();
        order.push_back(3);
    };
    std::function<void()> b = [&] {
        order.push_back(2);
        ABT_self_yield();
        order.push_back(4);
    };
    ABT_thread ta = start(pools[0], a), tb = start(pools[0], b);
    OK(ABT_thread_free(&ta));
    OK(ABT_thread_free(&tb));
    EXPECT_EQ((std::vector<int>{1, 2, 3, 4}), order);
}

TEST_F(argobots, yield_to_skips_the_queue) {
    std::vector<int> order;
    std::function<void()> first = [&] { order.push_back(1); }, second = [&] { order.push_back(2); };
    ABT_thread ta = start(pools[0], first), tb = start(pools[0], second);
    OK(ABT_thread_yield_to(tb));
    OK(ABT_thread_free(&ta));
    OK(ABT_thread_free(&tb));
    EXPECT_EQ((std::vector<int>{2, 1}), order);
}

TEST_F(argobots, a_suspended_ult_goes_on_when_it_is_resumed) {
    add_streams(1);
    std::atomic<int> step{0};
    std::function<void()> body = [&] {
        step = 1;
        ABT_self_suspend();
        step = 2;
    };
    ABT_thread t = start(pools[1], body);
    await_state(t, ABT_THREAD_STATE_BLOCKED);
    EXPECT_EQ(1, step.load());
    std::size_t total = 0, size = 1;
    OK(ABT_pool_get_total_size(pools[1], &total));
    OK(ABT_pool_get_size(pools[1], &size));
    EXPECT_EQ(1U, total);
    EXPECT_EQ(0U, size);
    OK(ABT_thread_resume(t));
    OK(ABT_thread_join(t));
    EXPECT_EQ(2, step.load());
    EXPECT_EQ(ABT_ERR_THREAD, ABT_thread_resume(t)) << "it is not suspended";
    OK(ABT_thread_free(&t));
}

TEST_F(argobots, a_ult_that_waits_for_a_mutex_is_not_resumed_by_others) {
    add_streams(1);
    ABT_mutex m = ABT_MUTEX_NULL;
    OK(ABT_mutex_create(&m));
    OK(ABT_mutex_lock(m));
    std::function<void()> body = [&] {
        ABT_mutex_lock(m);
        ABT_mutex_unlock(m);
    };
    ABT_thread t = start(pools[1], body);
    await_state(t, ABT_THREAD_STATE_BLOCKED);
    EXPECT_EQ(ABT_ERR_THREAD, ABT_thread_resume(t));
    OK(ABT_mutex_unlock(m));
    OK(ABT_thread_free(&t));
    OK(ABT_mutex_free(&m));
}

TEST_F(argobots, the_direct_switches_go_where_they_say) {
    std::vector<int> order;
    ABT_pool aside = ABT_POOL_NULL; // of no stream
    OK(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &aside));
    ABT_thread sleeper = ABT_THREAD_NULL, popped = ABT_THREAD_NULL;
    std::function<void()> sleeps = [&] {
        order.push_back(1);
        ABT_self_suspend();
        order.push_back(3);
    };
    std::function<void()> wakes = [&] {
        order.push_back(2);
        ABT_self_resume_yield_to(sleeper);
        order.push_back(4);
        ABT_self_exit_to(popped);
        order.push_back(0);
    };
    std::function<void()> last = [&] { order.push_back(5); };
    sleeper = start(pools[0], sleeps);
    ABT_thread waker = start(pools[0], wakes), next = start(aside, last);
    OK(ABT_pool_pop_thread(aside, &popped));
    OK(ABT_thread_free(&waker));
    OK(ABT_thread_free(&next));
    OK(ABT_thread_free(&sleeper));
    EXPECT_EQ((std::vector<int>{1, 2, 3, 4, 5}), order);
    OK(ABT_pool_free(&aside));
}

TEST_F(argobots, create_to_and_revive_to_run_at_once) {
    std::vector<int> order;
    const auto fn = [](void *v) { static_cast<std::vector<int> *>(v)->push_back(1); };
    ABT_thread t = ABT_THREAD_NULL;
    OK(ABT_thread_create_to(pools[0], fn, &order, ABT_THREAD_ATTR_NULL, &t));
    order.push_back(2);
    OK(ABT_thread_join(t));
    OK(ABT_thread_revive_to(pools[0], fn, &order, &t));
    order.push_back(2);
    OK(ABT_thread_free(&t));
    EXPECT_EQ((std::vector<int>{1, 2, 1, 2}), order);
}

TEST_F(argobots, an_ended_unit_is_revived_with_another_function) {
    add_streams(1);
    static std::atomic<int> sum;
    sum = 0;
    ABT_thread t = ABT_THREAD_NULL;
    OK(ABT_thread_create(
        pools[1], [](void *) { sum += 1; }, nullptr, ABT_THREAD_ATTR_NULL, &t));
    OK(ABT_thread_join(t));
    for (int i = 0; i < 50; ++i) {
        OK(ABT_thread_revive(
            pools[i % 2U], [](void *) { sum += 10; }, nullptr, &t));
        OK(ABT_thread_join(t));
    }
    EXPECT_EQ(501, sum.load());
    OK(ABT_thread_free(&t));
}

TEST_F(argobots, a_cancelled_ult_ends_where_it_is) {
    add_streams(1);
    std::atomic<int> steps{0};
    std::function<void()> body = [&] {
        for (;;) {
            ++steps;
            ABT_thread_yield();
        }
    };
    ABT_thread t = start(pools[1], body);
    while (steps.load() < 3) ABT_thread_yield();
    OK(ABT_thread_cancel(t));
    OK(ABT_thread_join(t));
    OK(ABT_thread_cancel(t)) << "a finished one is cancelled without effect";
    OK(ABT_thread_free(&t));
}

TEST_F(argobots, a_ult_migrates_and_its_callback_is_called) {
    add_streams(2);
    std::atomic<bool> go{false};
    std::atomic<int> calls{0}, end{-1};
    std::function<void()> body = [&] {
        while (!go) ABT_thread_yield();
        ABT_thread_yield();
        int rank = -1;
        ABT_self_get_xstream_rank(&rank);
        end = rank;
    };
    ABT_thread t = start(pools[1], body);
    OK(ABT_thread_set_callback(
        t, [](ABT_thread, void *n) { ++*static_cast<std::atomic<int> *>(n); }, &calls));
    EXPECT_EQ(ABT_ERR_MIGRATION_TARGET, ABT_thread_migrate_to_pool(t, pools[1]));
    OK(ABT_thread_migrate_to_xstream(t, streams[2]));
    while (calls == 0) ABT_thread_yield();
    go = true;
    OK(ABT_thread_free(&t));
    EXPECT_EQ(2, end.load());
    EXPECT_EQ(1, calls.load());
}

TEST_F(argobots, attributes_give_stacks) {
    constexpr std::size_t size = 64 << 10;
    ABT_thread_attr attr = ABT_THREAD_ATTR_NULL;
    OK(ABT_thread_attr_create(&attr));
    OK(ABT_thread_attr_set_stacksize(attr, 1 << 20));
    static std::atomic<bool> right;
    const auto fills_half_a_mebibyte = [](void *) {
        volatile char a[512 << 10];
        for (std::size_t i = 0; i < sizeof a; i += 512) a[i] = 1;
        right = true;
    };
    right = false;
    ABT_thread t = ABT_THREAD_NULL;
    OK(ABT_thread_create(pools[0], fills_half_a_mebibyte, nullptr, attr, &t));
    OK(ABT_thread_free(&t));
    EXPECT_TRUE(right);

    void *memory = std::aligned_alloc(64, size);
    OK(ABT_thread_attr_set_stack(attr, memory, size));
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_thread_attr_set_stack(attr, static_cast<char *>(memory) + 1, size - 8));
    static char *low, *high;
    low = static_cast<char *>(memory);
    high = low + size;
    right = false;
    const auto looks_where_it_is = [](void *) {
        ABT_thread_yield();
        char here = 0;
        char *volatile at = &here;
        right = at > low && at < high;
    };
    OK(ABT_thread_create(pools[0], looks_where_it_is, nullptr, attr, &t));
    std::size_t told = 0;
    OK(ABT_thread_get_stacksize(t, &told));
    EXPECT_EQ(size, told);
    OK(ABT_thread_join(t));
    OK(ABT_thread_revive(pools[0], looks_where_it_is, nullptr, &t));
    OK(ABT_thread_free(&t));
    EXPECT_TRUE(right);
    OK(ABT_thread_attr_free(&attr));
    std::free(memory);
}

TEST_F(argobots, a_huge_stack_is_refused_and_a_tiny_one_is_rounded_up) {
    ABT_thread_attr attr = ABT_THREAD_ATTR_NULL;
    OK(ABT_thread_attr_create(&attr));
    OK(ABT_thread_attr_set_stacksize(attr, std::size_t{1} << 50));
    ABT_thread t = ABT_THREAD_NULL;
    EXPECT_EQ(ABT_ERR_MEM, ABT_thread_create(
                               pools[0], [](void *) {}, nullptr, attr, &t));
    EXPECT_EQ(ABT_THREAD_NULL, t);
    for (std::size_t size : {std::size_t{0}, std::size_t{1}}) {
        OK(ABT_thread_attr_set_stacksize(attr, size));
        OK(ABT_thread_create(
            pools[0], [](void *) { ABT_thread_yield(); }, nullptr, attr, &t));
        OK(ABT_thread_free(&t));
    }
    OK(ABT_thread_attr_free(&attr));
}

TEST_F(argobots, keys_have_a_value_in_each_unit_and_are_destructed) {
    static std::atomic<int> destructed;
    destructed = 0;
    ABT_key key = ABT_KEY_NULL, plain = ABT_KEY_NULL;
    OK(ABT_key_create([](void *v) { destructed += *static_cast<int *>(v); }, &key));
    OK(ABT_key_create(nullptr, &plain));
    static ABT_key k;
    k = key;
    static int ten = 10;
    ABT_thread t = ABT_THREAD_NULL;
    const auto sets = [](void *) {
        void *before = &ten;
        EXPECT_EQ(ABT_SUCCESS, ABT_key_get(k, &before));
        EXPECT_EQ(nullptr, before);
        EXPECT_EQ(ABT_SUCCESS, ABT_key_set(k, &ten));
    };
    OK(ABT_thread_create(pools[0], sets, nullptr, ABT_THREAD_ATTR_NULL, &t));
    OK(ABT_thread_join(t));
    void *value = nullptr;
    OK(ABT_thread_get_specific(t, key, &value));
    EXPECT_EQ(&ten, value);
    OK(ABT_self_get_specific(key, &value));
    EXPECT_EQ(nullptr, value);
    EXPECT_EQ(0, destructed.load()) << "not when it is joined";
    OK(ABT_key_free(&key));
    OK(ABT_thread_free(&t));
    EXPECT_EQ(10, destructed.load()) << "but when it is freed, the key being gone";
    OK(ABT_key_free(&plain));
}

TEST_F(argobots, the_main_ult_goes_on_on_its_own_thread_whoever_takes_it_up) {
    ABT_pool shared = pools[0];
    ABT_xstream thief = ABT_XSTREAM_NULL;
    OK(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &shared, ABT_SCHED_CONFIG_NULL, &thief));
    const std::thread::id me = std::this_thread::get_id();
    int other = 0;
    for (int i = 0; i < 2000; ++i) {
        OK(ABT_thread_yield());
        ASSERT_EQ(me, std::this_thread::get_id());
        int rank = 0;
        OK(ABT_self_get_xstream_rank(&rank));
        other += rank != 0;
    }
    for (ABT_bool on = ABT_FALSE; !on; ABT_thread_yield()) OK(ABT_self_on_primary_xstream(&on));
    ABT_bool on = ABT_FALSE;
    do {
        OK(ABT_thread_yield());
        OK(ABT_self_on_primary_xstream(&on));
    } while (!on);
    OK(ABT_xstream_free(&thief));
    RecordProperty("times_taken_up_by_the_other_stream", other);
}

TEST_F(argobots, a_thread_of_the_program_creates_and_joins) {
    add_streams(1);
    std::atomic<int> ran{0};
    std::function<void()> body = [&] { ++ran; };
    std::thread outside([&] {
        for (int i = 0; i < 100; ++i) {
            ABT_thread t = start(pools[1], body);
            EXPECT_EQ(ABT_SUCCESS, ABT_thread_free(&t));
        }
        ABT_thread self = ABT_THREAD_NULL;
        EXPECT_EQ(ABT_ERR_INV_XSTREAM, ABT_self_get_thread(&self));
        EXPECT_EQ(ABT_ERR_INV_XSTREAM, ABT_self_suspend());
    });
    while (ran.load() < 100) ABT_thread_yield();
    outside.join();
}

} // namespace
