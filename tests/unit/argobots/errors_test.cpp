#include "environment.hpp"

#include <cstdio>
#include <cstring>
#include <string>

namespace {

TEST_F(argobots, null_handles_are_named) {
    ABT_thread none = ABT_THREAD_NULL;
    ABT_pool no_pool = ABT_POOL_NULL;
    ABT_xstream no_stream = ABT_XSTREAM_NULL;
    std::size_t size = 0;
    void *pointer = nullptr;
    EXPECT_EQ(ABT_ERR_INV_POOL, ABT_thread_create(no_pool, nullptr, nullptr, ABT_THREAD_ATTR_NULL, &none));
    EXPECT_EQ(ABT_ERR_INV_POOL, ABT_task_create(no_pool, nullptr, nullptr, &none));
    EXPECT_EQ(ABT_ERR_INV_XSTREAM,
              ABT_thread_create_on_xstream(no_stream, nullptr, nullptr, ABT_THREAD_ATTR_NULL, &none));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_free(&none));
    EXPECT_EQ(ABT_ERR_INV_TASK, ABT_task_free(&none));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_join(none));
    EXPECT_EQ(ABT_ERR_INV_TASK, ABT_task_join(none));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_resume(none));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_self_yield_to(none));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_cancel(none));
    EXPECT_EQ(ABT_ERR_INV_POOL, ABT_pool_get_size(no_pool, &size));
    EXPECT_EQ(ABT_ERR_INV_POOL, ABT_pool_free(&no_pool));
    EXPECT_EQ(ABT_ERR_INV_POOL_USER_DEF, ABT_pool_create(ABT_POOL_USER_DEF_NULL, ABT_POOL_CONFIG_NULL, &no_pool));
    EXPECT_EQ(ABT_ERR_INV_XSTREAM, ABT_xstream_join(no_stream));
    EXPECT_EQ(ABT_ERR_INV_SCHED, ABT_sched_finish(ABT_SCHED_NULL));
    EXPECT_EQ(ABT_ERR_INV_SCHED, ABT_sched_get_data(ABT_SCHED_NULL, &pointer));
    EXPECT_EQ(ABT_ERR_INV_SCHED_CONFIG, ABT_sched_config_read(ABT_SCHED_CONFIG_NULL, 0));
    EXPECT_EQ(ABT_ERR_INV_POOL_CONFIG, ABT_pool_config_set(ABT_POOL_CONFIG_NULL, 0, ABT_POOL_CONFIG_INT, nullptr));
    EXPECT_EQ(ABT_ERR_INV_MUTEX, ABT_mutex_lock(ABT_MUTEX_NULL));
    EXPECT_EQ(ABT_ERR_INV_COND, ABT_cond_signal(ABT_COND_NULL));
    EXPECT_EQ(ABT_ERR_INV_RWLOCK, ABT_rwlock_rdlock(ABT_RWLOCK_NULL));
    EXPECT_EQ(ABT_ERR_INV_EVENTUAL, ABT_eventual_wait(ABT_EVENTUAL_NULL, nullptr));
    EXPECT_EQ(ABT_ERR_INV_FUTURE, ABT_future_wait(ABT_FUTURE_NULL));
    EXPECT_EQ(ABT_ERR_INV_BARRIER, ABT_barrier_wait(ABT_BARRIER_NULL));
    EXPECT_EQ(ABT_ERR_INV_XSTREAM_BARRIER, ABT_xstream_barrier_wait(ABT_XSTREAM_BARRIER_NULL));
    EXPECT_EQ(ABT_ERR_INV_KEY, ABT_key_set(ABT_KEY_NULL, nullptr));
    EXPECT_EQ(ABT_ERR_INV_TIMER, ABT_timer_start(ABT_TIMER_NULL));
    EXPECT_EQ(ABT_ERR_INV_UNIT, ABT_pool_push(pools[0], ABT_UNIT_NULL));
    EXPECT_EQ(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_set_stacksize(ABT_THREAD_ATTR_NULL, 1));
    EXPECT_EQ(ABT_ERR_INV_MUTEX_ATTR, ABT_mutex_attr_set_recursive(ABT_MUTEX_ATTR_NULL, ABT_TRUE));
}

TEST_F(argobots, numbers_out_of_range_are_refused) {
    ABT_pool p = ABT_POOL_NULL;
    ABT_sched s = ABT_SCHED_NULL;
    ABT_xstream x = ABT_XSTREAM_NULL;
    ABT_barrier b = ABT_BARRIER_NULL;
    ABT_eventual e = ABT_EVENTUAL_NULL;
    EXPECT_EQ(ABT_ERR_INV_POOL_KIND,
              ABT_pool_create_basic(static_cast<ABT_pool_kind>(77), ABT_POOL_ACCESS_MPMC, ABT_TRUE, &p));
    EXPECT_EQ(ABT_ERR_INV_POOL_ACCESS,
              ABT_pool_create_basic(ABT_POOL_FIFO, static_cast<ABT_pool_access>(77), ABT_TRUE, &p));
    EXPECT_EQ(ABT_ERR_INV_SCHED_PREDEF,
              ABT_sched_create_basic(static_cast<ABT_sched_predef>(77), 0, nullptr, ABT_SCHED_CONFIG_NULL, &s));
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_sched_create_basic(ABT_SCHED_BASIC, -1, nullptr, ABT_SCHED_CONFIG_NULL, &s));
    EXPECT_EQ(ABT_ERR_INV_XSTREAM_RANK, ABT_xstream_create_with_rank(ABT_SCHED_NULL, -1, &x));
    EXPECT_EQ(ABT_ERR_INV_XSTREAM_RANK, ABT_xstream_create_with_rank(ABT_SCHED_NULL, 0, &x)) << "the primary's";
    EXPECT_EQ(ABT_XSTREAM_NULL, x);
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_barrier_create(0, &b));
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_eventual_create(-1, &e));
    EXPECT_EQ(ABT_ERR_CPUID, ABT_xstream_set_cpubind(streams[0], 8191));
    EXPECT_EQ(ABT_ERR_CPUID, ABT_xstream_set_cpubind(streams[0], -1));
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_xstream_set_affinity(streams[0], -1, nullptr));
    EXPECT_EQ(ABT_ERR_INV_ARG, ABT_xstream_get_affinity(streams[0], -1, nullptr, nullptr));
    EXPECT_EQ(ABT_ERR_INV_XSTREAM, ABT_xstream_set_affinity(ABT_XSTREAM_NULL, 0, nullptr));
    EXPECT_EQ(ABT_ERR_FEATURE_NA, ABT_tool_register_thread_callback(nullptr, 0, nullptr));
    ABT_bool answer = ABT_TRUE;
    EXPECT_EQ(ABT_ERR_INV_QUERY_KIND, ABT_info_query_config(static_cast<ABT_info_query_kind>(999), &answer));
    OK(ABT_info_query_config(ABT_INFO_QUERY_KIND_ENABLED_TOOL, &answer));
    EXPECT_FALSE(answer);
}

TEST_F(argobots, what_cannot_be_done_to_oneself_or_the_main_ult) {
    ABT_thread self = ABT_THREAD_NULL;
    OK(ABT_self_get_thread(&self));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_join(self));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_free(&self));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_exit());
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_cancel(self));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_yield_to(self));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_migrate_to_pool(self, pools[0]));
    EXPECT_EQ(ABT_ERR_THREAD, ABT_thread_resume(self));
    EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_revive(pools[0], nullptr, nullptr, &self)) << "it has not ended";
    EXPECT_EQ(ABT_ERR_INV_XSTREAM, ABT_xstream_join(streams[0]));
    EXPECT_EQ(ABT_ERR_INV_XSTREAM, ABT_xstream_cancel(streams[0]));
    ABT_sched main = ABT_SCHED_NULL;
    OK(ABT_xstream_get_main_sched(streams[0], &main));
    EXPECT_EQ(ABT_ERR_SCHED, ABT_sched_free(&main));
    EXPECT_EQ(ABT_ERR_INV_SCHED, ABT_pool_add_sched(pools[0], main));
    ABT_xstream x = ABT_XSTREAM_NULL;
    EXPECT_EQ(ABT_ERR_INV_SCHED, ABT_xstream_create(main, &x));
    ABT_thread own = ABT_THREAD_NULL;
    static ABT_thread mine;
    OK(ABT_thread_create(
        pools[0],
        [](void *) {
            EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_join(mine));
            EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_finalize());
        },
        nullptr, ABT_THREAD_ATTR_NULL, &own));
    mine = own;
    OK(ABT_thread_free(&own));
}

TEST_F(argobots, tasklets_do_not_wait) {
    static ABT_eventual e;
    static ABT_barrier b;
    static ABT_future f;
    static ABT_rwlock l;
    OK(ABT_eventual_create(0, &e));
    OK(ABT_barrier_create(2, &b));
    OK(ABT_future_create(1, nullptr, &f));
    OK(ABT_rwlock_create(&l));
    ABT_task t = ABT_TASK_NULL;
    OK(ABT_task_create(
        pools[0],
        [](void *) {
            EXPECT_EQ(ABT_ERR_EVENTUAL, ABT_eventual_wait(e, nullptr));
            EXPECT_EQ(ABT_ERR_BARRIER, ABT_barrier_wait(b));
            EXPECT_EQ(ABT_ERR_FUTURE, ABT_future_wait(f));
            EXPECT_EQ(ABT_ERR_RWLOCK, ABT_rwlock_rdlock(l));
            EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_self_yield());
            EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_self_suspend());
            EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_self_exit());
            ABT_unit_type type = ABT_UNIT_TYPE_THREAD;
            EXPECT_EQ(ABT_SUCCESS, ABT_self_get_type(&type));
            EXPECT_EQ(ABT_UNIT_TYPE_TASK, type);
            ABT_thread self = ABT_THREAD_NULL;
            EXPECT_EQ(ABT_ERR_INV_THREAD, ABT_thread_self(&self));
            ABT_task task = ABT_TASK_NULL;
            EXPECT_EQ(ABT_SUCCESS, ABT_task_self(&task));
        },
        nullptr, &t));
    OK(ABT_task_free(&t));
    OK(ABT_eventual_free(&e));
    OK(ABT_barrier_free(&b));
    OK(ABT_future_free(&f));
    OK(ABT_rwlock_free(&l));
}

TEST_F(argobots, a_locked_mutex_is_not_freed) {
    ABT_mutex m = ABT_MUTEX_NULL;
    OK(ABT_mutex_create(&m));
    EXPECT_EQ(ABT_ERR_MUTEX, ABT_mutex_unlock(m));
    OK(ABT_mutex_lock(m));
    EXPECT_EQ(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(m));
    EXPECT_EQ(ABT_ERR_MUTEX_LOCKED, ABT_mutex_free(&m));
    OK(ABT_mutex_unlock(m));
    OK(ABT_mutex_free(&m));
    EXPECT_EQ(ABT_MUTEX_NULL, m);
}

TEST(argobots_outside, functions_say_that_nothing_is_initialised) {
    ABT_xstream x = ABT_XSTREAM_NULL;
    ABT_thread t = ABT_THREAD_NULL;
    ABT_mutex m = ABT_MUTEX_NULL;
    ABT_unit_type type = ABT_UNIT_TYPE_THREAD;
    int n = 0;
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_xstream_self(&x));
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_xstream_get_num(&n));
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_thread_self(&t));
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_mutex_create(&m));
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_thread_yield());
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_self_get_type(&type));
    EXPECT_EQ(ABT_UNIT_TYPE_EXT, type);
}

TEST(argobots_outside, every_error_has_its_name) {
    for (int error = 0; error <= ABT_ERR_INV_POOL_USER_DEF; ++error) {
        char name[64] = "";
        std::size_t length = 0;
        OK(ABT_error_get_str(error, name, &length));
        EXPECT_EQ(std::strlen(name), length);
        EXPECT_EQ(0, std::string(name).find(error ? "ABT_ERR_" : "ABT_SUCCESS"));
    }
    EXPECT_EQ(ABT_ERR_OTHER, ABT_error_get_str(-1, nullptr, nullptr));
    EXPECT_EQ(ABT_ERR_OTHER, ABT_error_get_str(ABT_ERR_INV_POOL_USER_DEF + 1, nullptr, nullptr));
}

TEST(argobots_outside, timers_measure) {
    ABT_timer a = ABT_TIMER_NULL, b = ABT_TIMER_NULL;
    double seconds = 0, sum = 1, overhead = -1;
    OK(ABT_timer_create(&a));
    OK(ABT_timer_start(a));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    OK(ABT_timer_stop_and_read(a, &seconds));
    EXPECT_GE(seconds, 0.005);
    OK(ABT_timer_dup(a, &b));
    double copied = 0;
    OK(ABT_timer_read(b, &copied));
    EXPECT_EQ(seconds, copied);
    OK(ABT_timer_stop_and_add(b, &sum));
    EXPECT_GE(sum, 1.005);
    OK(ABT_timer_get_overhead(&overhead));
    EXPECT_GT(overhead, 0);
    OK(ABT_timer_free(&a));
    OK(ABT_timer_free(&b));
}

// What is printed, as text.
template <class Print> std::string printed(Print &&print) {
    char *text = nullptr;
    std::size_t length = 0;
    std::FILE *to = open_memstream(&text, &length);
    print(to);
    std::fclose(to);
    std::string all(text, length);
    std::free(text);
    return all;
}

TEST_F(argobots, information_is_printed) {
    ABT_thread t = ABT_THREAD_NULL;
    OK(ABT_thread_create(
        pools[0], [](void *) { ABT_thread_yield(); }, nullptr, ABT_THREAD_ATTR_NULL, &t));
    const std::string text = printed([&](std::FILE *to) {
        OK(ABT_info_print_config(to));
        OK(ABT_info_print_all_xstreams(to));
        OK(ABT_info_print_xstream(to, streams[0]));
        OK(ABT_info_print_pool(to, pools[0]));
        OK(ABT_info_print_thread(to, t));
    });
    for (const char *wanted : {"harts", "execution stream 0", "primary", "FIFO", "ULT", "READY"})
        EXPECT_NE(std::string::npos, text.find(wanted)) << wanted;
    OK(ABT_thread_yield()); // it starts, and stops
    const std::string stack = printed([&](std::FILE *to) {
        OK(ABT_info_print_thread_stack(to, t));
        OK(ABT_info_print_thread_stacks_in_pool(to, pools[0]));
    });
    EXPECT_NE(std::string::npos, stack.find("stopped at"));
    OK(ABT_thread_free(&t));
}

TEST_F(argobots, all_stacks_are_printed_when_the_streams_have_stopped) {
    add_streams(2);
    static std::atomic<int> done;
    static std::atomic<ABT_bool> late;
    done = 0;
    late = ABT_TRUE;
    std::atomic<bool> end{false};
    std::function<void()> body = [&] {
        while (!end) ABT_thread_yield();
    };
    std::vector<ABT_thread> threads;
    for (ABT_pool p : pools) threads.push_back(start(p, body));
    const std::string text = printed([&](std::FILE *to) {
        OK(ABT_info_trigger_print_all_thread_stacks(
            to, -1,
            [](ABT_bool timed_out, void *) {
                late = timed_out;
                ++done;
            },
            nullptr));
        while (done == 0) ABT_thread_yield();
    });
    EXPECT_FALSE(late.load());
    EXPECT_EQ(1, done.load());
    EXPECT_NE(std::string::npos, text.find("stack of work unit"));
    end = true;
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
}

} // namespace
