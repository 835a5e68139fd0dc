#include "environment.hpp"

#include <chrono>
#include <ctime>
#include <limits>

namespace {

timespec in_ms(int ms) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (ms % 1000) * 1'000'000L;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1'000'000'000L;
    t.tv_nsec %= 1'000'000'000L;
    return t;
}

TEST_F(argobots, a_mutex_excludes_ults_tasklets_and_threads_of_the_program) {
    add_streams(3);
    static ABT_mutex m;
    static int counter;
    OK(ABT_mutex_create(&m));
    counter = 0;
    constexpr int rounds = 200;
    const auto body = [](void *) {
        for (int i = 0; i < rounds; ++i) {
            if (i % 3)
                ABT_mutex_lock(m);
            else
                ABT_mutex_spinlock(m);
            const int before = counter;
            if (i % 16 == 0) ABT_thread_yield();
            counter = before + 1;
            ABT_mutex_unlock(m);
        }
    };
    const auto short_body = [](void *) {
        ABT_mutex_lock(m);
        ++counter;
        ABT_mutex_unlock(m);
    };
    std::vector<ABT_thread> units(24);
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (i % 2)
            OK(ABT_task_create(pools[i % 4], short_body, nullptr, &units[i]));
        else
            OK(ABT_thread_create(pools[i % 4], body, nullptr, ABT_THREAD_ATTR_NULL, &units[i]));
    }
    std::thread outside([&] {
        for (int i = 0; i < rounds; ++i) {
            ABT_mutex_lock(m);
            ++counter;
            ABT_mutex_unlock(m);
        }
    });
    for (ABT_thread &t : units) OK(ABT_thread_free(&t));
    outside.join();
    EXPECT_EQ(12 * rounds + 12 + rounds, counter);
    OK(ABT_mutex_free(&m));
}

TEST_F(argobots, a_recursive_mutex_belongs_to_its_owner) {
    ABT_mutex_memory memory = ABT_RECURSIVE_MUTEX_INITIALIZER;
    ABT_mutex m = ABT_MUTEX_MEMORY_GET_HANDLE(&memory);
    OK(ABT_mutex_lock(m));
    OK(ABT_mutex_trylock(m));
    OK(ABT_mutex_lock(m));
    int other = ABT_SUCCESS, others_unlock = ABT_SUCCESS;
    std::function<void()> body = [&] {
        other = ABT_mutex_trylock(m);
        others_unlock = ABT_mutex_unlock(m);
    };
    ABT_thread t = start(pools[0], body);
    OK(ABT_thread_free(&t));
    EXPECT_EQ(ABT_ERR_MUTEX_LOCKED, other);
    EXPECT_EQ(ABT_ERR_MUTEX, others_unlock);
    for (int i = 0; i < 3; ++i) OK(ABT_mutex_unlock(m));
    EXPECT_EQ(ABT_ERR_MUTEX, ABT_mutex_unlock(m));
    ABT_mutex_attr attr = ABT_MUTEX_ATTR_NULL;
    OK(ABT_mutex_get_attr(m, &attr));
    ABT_bool recursive = ABT_FALSE;
    OK(ABT_mutex_attr_get_recursive(attr, &recursive));
    EXPECT_TRUE(recursive);
    OK(ABT_mutex_attr_free(&attr));
}

TEST_F(argobots, a_signal_wakes_one_in_order_and_nobody_wakes_without) {
    add_streams(1);
    ABT_mutex m = ABT_MUTEX_NULL;
    ABT_cond c = ABT_COND_NULL;
    OK(ABT_mutex_create(&m));
    OK(ABT_cond_create(&c));
    std::vector<int> woken;
    std::function<void()> bodies[3];
    std::vector<ABT_thread> threads;
    for (int i = 0; i < 3; ++i) {
        bodies[i] = [&, i] {
            ABT_mutex_lock(m);
            ABT_cond_wait(c, m); // without a loop: a spurious wake-up would show
            woken.push_back(i);
            ABT_mutex_unlock(m);
        };
        threads.push_back(start(pools[1], bodies[i]));
        await_state(threads.back(), ABT_THREAD_STATE_BLOCKED);
    }
    EXPECT_EQ(ABT_ERR_COND, ABT_cond_free(&c)) << "somebody waits";
    OK(ABT_cond_signal(c));
    OK(ABT_thread_join(threads[0]));
    OK(ABT_mutex_lock(m));
    EXPECT_EQ(std::vector<int>{0}, woken);
    OK(ABT_mutex_unlock(m));
    OK(ABT_cond_broadcast(c));
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
    EXPECT_EQ((std::vector<int>{0, 1, 2}), woken);
    OK(ABT_cond_free(&c));
    OK(ABT_mutex_free(&m));
}

TEST_F(argobots, a_timed_wait_ends_at_its_time_or_by_a_signal) {
    add_streams(1);
    ABT_mutex m = ABT_MUTEX_NULL;
    ABT_cond c = ABT_COND_NULL;
    OK(ABT_mutex_create(&m));
    OK(ABT_cond_create(&c));
    OK(ABT_mutex_lock(m));
    timespec t = in_ms(20);
    const double from = ABT_get_wtime();
    EXPECT_EQ(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(c, m, &t));
    EXPECT_GE(ABT_get_wtime() - from, 0.015);
    for (const timespec past : {in_ms(-1000), timespec{std::numeric_limits<std::time_t>::min(), 0}})
        EXPECT_EQ(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(c, m, &past));
    EXPECT_EQ(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(m)) << "it is locked again";
    std::function<void()> body = [&] {
        ABT_mutex_lock(m);
        ABT_cond_signal(c);
        ABT_mutex_unlock(m);
    };
    ABT_thread other = start(pools[1], body);
    t = in_ms(60'000);
    OK(ABT_cond_timedwait(c, m, &t));
    OK(ABT_mutex_unlock(m));
    OK(ABT_thread_free(&other));

    ABT_eventual e = ABT_EVENTUAL_NULL;
    OK(ABT_eventual_create(0, &e));
    t = in_ms(10);
    EXPECT_EQ(ABT_ERR_COND_TIMEDOUT, ABT_eventual_timedwait(e, nullptr, &t));
    OK(ABT_eventual_set(e, nullptr, 0));
    OK(ABT_eventual_timedwait(e, nullptr, &t));
    OK(ABT_eventual_free(&e));
    OK(ABT_cond_free(&c));
    OK(ABT_mutex_free(&m));
}

TEST_F(argobots, two_mutexes_do_not_go_with_one_condition) {
    add_streams(1);
    ABT_mutex a = ABT_MUTEX_NULL, b = ABT_MUTEX_NULL;
    ABT_cond_memory memory = ABT_COND_INITIALIZER;
    ABT_cond c = ABT_COND_MEMORY_GET_HANDLE(&memory);
    OK(ABT_mutex_create(&a));
    OK(ABT_mutex_create(&b));
    std::function<void()> body = [&] {
        ABT_mutex_lock(a);
        ABT_cond_wait(c, a);
        ABT_mutex_unlock(a);
    };
    ABT_thread t = start(pools[1], body);
    await_state(t, ABT_THREAD_STATE_BLOCKED);
    OK(ABT_mutex_lock(b));
    EXPECT_EQ(ABT_ERR_INV_MUTEX, ABT_cond_wait(c, b));
    OK(ABT_mutex_unlock(b));
    OK(ABT_cond_signal(c));
    OK(ABT_thread_free(&t));
    OK(ABT_mutex_free(&a));
    OK(ABT_mutex_free(&b));
}

TEST_F(argobots, readers_share_and_a_writer_is_alone) {
    add_streams(3);
    ABT_rwlock l = ABT_RWLOCK_NULL;
    OK(ABT_rwlock_create(&l));
    std::atomic<int> readers{0}, most{0}, writers{0};
    std::atomic<bool> wrong{false};
    std::function<void()> reads = [&] {
        for (int i = 0; i < 100; ++i) {
            ABT_rwlock_rdlock(l);
            const int now = ++readers;
            for (int m = most; now > m && !most.compare_exchange_weak(m, now);) {
            }
            if (writers) wrong = true;
            ABT_thread_yield();
            --readers;
            ABT_rwlock_unlock(l);
        }
    };
    std::function<void()> writes = [&] {
        for (int i = 0; i < 100; ++i) {
            ABT_rwlock_wrlock(l);
            if (++writers != 1 || readers) wrong = true;
            ABT_thread_yield();
            --writers;
            ABT_rwlock_unlock(l);
        }
    };
    std::vector<ABT_thread> threads;
    for (std::size_t i = 0; i < 12; ++i) threads.push_back(start(pools[i % 4], i % 3 ? reads : writes));
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
    EXPECT_FALSE(wrong);
    EXPECT_GT(most.load(), 1);
    EXPECT_EQ(ABT_ERR_RWLOCK, ABT_rwlock_unlock(l));
    OK(ABT_rwlock_rdlock(l));
    EXPECT_EQ(ABT_ERR_RWLOCK, ABT_rwlock_free(&l));
    OK(ABT_rwlock_unlock(l));
    OK(ABT_rwlock_free(&l));
}

TEST_F(argobots, an_eventual_carries_a_value_to_all_who_wait) {
    add_streams(2);
    ABT_eventual e = ABT_EVENTUAL_NULL;
    OK(ABT_eventual_create(sizeof(int), &e));
    std::atomic<int> sum{0};
    std::function<void()> body = [&] {
        void *v = nullptr;
        ABT_eventual_wait(e, &v);
        sum += *static_cast<int *>(v);
    };
    std::vector<ABT_thread> threads;
    for (std::size_t i = 0; i < 9; ++i) threads.push_back(start(pools[i % 3], body));
    std::thread outside(body);
    ABT_bool ready = ABT_TRUE;
    OK(ABT_eventual_test(e, nullptr, &ready));
    EXPECT_FALSE(ready);
    int value = 7;
    EXPECT_EQ(ABT_ERR_INV_EVENTUAL, ABT_eventual_set(e, &value, 8));
    OK(ABT_eventual_set(e, &value, sizeof value));
    EXPECT_EQ(ABT_ERR_EVENTUAL, ABT_eventual_set(e, &value, sizeof value));
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
    outside.join();
    EXPECT_EQ(70, sum.load());
    OK(ABT_eventual_reset(e));
    OK(ABT_eventual_test(e, nullptr, &ready));
    EXPECT_FALSE(ready);
    OK(ABT_eventual_free(&e));
}

TEST_F(argobots, a_future_is_ready_when_all_its_values_are_set) {
    add_streams(1);
    static std::atomic<int> sum;
    sum = 0;
    ABT_future f = ABT_FUTURE_NULL;
    OK(ABT_future_create(
        3, [](void **v) { sum = *static_cast<int *>(v[0]) + *static_cast<int *>(v[2]); }, &f));
    std::atomic<int> seen{-1};
    std::function<void()> body = [&] {
        ABT_future_wait(f);
        seen = sum.load();
    };
    ABT_thread t = start(pools[1], body);
    int values[3] = {1, 2, 4};
    for (int &v : values) {
        EXPECT_EQ(-1, seen.load());
        OK(ABT_future_set(f, &v));
    }
    OK(ABT_thread_free(&t));
    EXPECT_EQ(5, seen.load());
    EXPECT_EQ(ABT_ERR_FUTURE, ABT_future_set(f, &values[0]));
    OK(ABT_future_reset(f));
    ABT_bool ready = ABT_TRUE;
    OK(ABT_future_test(f, &ready));
    EXPECT_FALSE(ready);
    OK(ABT_future_free(&f));
    OK(ABT_future_create(0, nullptr, &f));
    OK(ABT_future_wait(f)) << "without compartments it is ready";
    EXPECT_EQ(ABT_ERR_FUTURE, ABT_future_set(f, nullptr));
    OK(ABT_future_free(&f));
}

TEST_F(argobots, a_barrier_holds_back_until_all_have_come) {
    add_streams(2);
    constexpr int n = 7, rounds = 50;
    ABT_barrier b = ABT_BARRIER_NULL;
    OK(ABT_barrier_create(1, &b));
    OK(ABT_barrier_wait(b));
    OK(ABT_barrier_reinit(b, n));
    uint32_t told = 0;
    OK(ABT_barrier_get_num_waiters(b, &told));
    EXPECT_EQ(7U, told);
    std::atomic<int> arrived{0};
    std::atomic<bool> early{false};
    std::function<void()> body = [&] {
        for (int i = 1; i <= rounds; ++i) {
            ++arrived;
            ABT_barrier_wait(b);
            if (arrived < i * n) early = true;
            ABT_barrier_wait(b);
        }
    };
    std::vector<ABT_thread> threads;
    for (std::size_t i = 0; i < n; ++i) threads.push_back(start(pools[i % 3], body));
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
    EXPECT_FALSE(early);
    OK(ABT_barrier_free(&b));
}

TEST_F(argobots, at_a_barrier_of_streams_the_whole_stream_waits) {
    add_streams(3);
    ABT_xstream_barrier b = ABT_XSTREAM_BARRIER_NULL;
    OK(ABT_xstream_barrier_create(3, &b));
    std::atomic<int> passed{0}, others{0};
    std::function<void()> body = [&] {
        ABT_xstream_barrier_wait(b);
        ++passed;
    };
    std::function<void()> other = [&] { others += passed.load() == 0; };
    std::vector<ABT_thread> threads;
    threads.push_back(start(pools[1], body));
    threads.push_back(start(pools[2], body));
    await_state(threads[1], ABT_THREAD_STATE_RUNNING);
    threads.push_back(start(pools[2], other)); // behind the one that waits
    for (int i = 0; i < 100; ++i) ABT_thread_yield();
    EXPECT_EQ(0, others.load());
    threads.push_back(start(pools[3], body));
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
    EXPECT_EQ(3, passed.load());
    OK(ABT_xstream_barrier_free(&b));
}

} // namespace
