#include "environment.hpp"

#include <chrono>
#include <ctime>

namespace {

using namespace std::chrono_literals;

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

TEST_F(argobots, every_stream_runs_although_there_are_more_than_harts) {
    add_streams(7);
    std::atomic<int> ran{0};
    std::atomic<unsigned> ranks{0};
    std::function<void()> body = [&] {
        int rank = -1;
        ABT_self_get_xstream_rank(&rank);
        ranks.fetch_or(1U << rank);
        ran.fetch_add(1);
        while (ran.load() < 8) ABT_thread_yield(); // waits for the others, whose streams need this hart
    };
    std::vector<ABT_thread> threads;
    for (ABT_pool p : pools) threads.push_back(start(p, body));
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
    EXPECT_EQ(0xffU, ranks.load());
}

TEST_F(argobots, a_stream_without_work_uses_no_cpu) {
    add_streams(3);
    std::function<void()> nothing = [] {};
    for (ABT_pool p : pools) {
        ABT_thread t = start(p, nothing);
        OK(ABT_thread_free(&t));
    }
    ABT_eventual e = ABT_EVENTUAL_NULL;
    OK(ABT_eventual_create(0, &e));
    std::thread outside([e] {
        std::this_thread::sleep_for(300ms);
        ABT_eventual_set(e, nullptr, 0);
    });
    const double before = cpu_seconds();
    OK(ABT_eventual_wait(e, nullptr));
    EXPECT_LT(cpu_seconds() - before, 0.05);
    outside.join();
    OK(ABT_eventual_free(&e));
}

TEST_F(argobots, a_program_s_own_scheduler_without_work_sleeps_and_is_woken) {
    ABT_sched_def def{};
    def.run = [](ABT_sched self) {
        ABT_pool p = ABT_POOL_NULL;
        ABT_sched_get_pools(self, 1, 0, &p);
        for (ABT_bool stop = ABT_FALSE; !stop;) {
            ABT_thread t = ABT_THREAD_NULL;
            ABT_pool_pop_thread(p, &t);
            if (t) ABT_self_schedule(t, p);
            ABT_xstream_check_events(self);
            ABT_sched_has_to_stop(self, &stop);
        }
    };
    ABT_pool p = ABT_POOL_NULL;
    OK(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &p));
    ABT_sched sched = ABT_SCHED_NULL;
    OK(ABT_sched_create(&def, 1, &p, ABT_SCHED_CONFIG_NULL, &sched));
    ABT_xstream s = ABT_XSTREAM_NULL;
    OK(ABT_xstream_create(sched, &s));
    std::this_thread::sleep_for(50ms);
    const double before = cpu_seconds();
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(cpu_seconds() - before, 0.04);
    std::atomic<int> ran{0};
    std::function<void()> body = [&] { ran = 1; };
    ABT_thread t = start(p, body);
    OK(ABT_thread_free(&t));
    EXPECT_EQ(1, ran.load());
    OK(ABT_xstream_free(&s));
    OK(ABT_sched_free(&sched));
}

TEST_F(argobots, ranks_are_the_lowest_that_are_free) {
    add_streams(2);
    int rank = -1, count = 0;
    OK(ABT_xstream_get_num(&count));
    EXPECT_EQ(3, count);
    ABT_xstream far = ABT_XSTREAM_NULL;
    OK(ABT_xstream_create_with_rank(ABT_SCHED_NULL, 9, &far));
    OK(ABT_xstream_get_rank(far, &rank));
    EXPECT_EQ(9, rank);
    EXPECT_EQ(ABT_ERR_INV_XSTREAM_RANK, ABT_xstream_set_rank(far, 1));
    OK(ABT_xstream_set_rank(far, 5));
    OK(ABT_xstream_get_rank(far, &rank));
    EXPECT_EQ(5, rank);
    OK(ABT_xstream_free(&far));
    OK(ABT_xstream_free(&streams[1]));
    streams.erase(streams.begin() + 1);
    add_streams(1);
    OK(ABT_xstream_get_rank(streams.back(), &rank));
    EXPECT_EQ(1, rank);
}

TEST_F(argobots, a_joined_stream_is_revived) {
    add_streams(1);
    for (int i = 0; i < 20; ++i) {
        std::atomic<int> ran{0};
        std::function<void()> body = [&] { ++ran; };
        ABT_thread t = start(pools[1], body);
        OK(ABT_xstream_join(streams[1]));
        ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;
        OK(ABT_xstream_get_state(streams[1], &state));
        EXPECT_EQ(ABT_XSTREAM_STATE_TERMINATED, state);
        EXPECT_EQ(1, ran.load()) << "a stream ends after its work";
        OK(ABT_thread_free(&t));
        OK(ABT_xstream_revive(streams[1]));
    }
}

TEST_F(argobots, a_cancelled_stream_leaves_its_work) {
    add_streams(1);
    OK(ABT_xstream_cancel(streams[1]));
    OK(ABT_xstream_join(streams[1]));
    std::atomic<int> ran{0};
    std::function<void()> body = [&] { ++ran; };
    ABT_thread t = start(pools[1], body);
    OK(ABT_xstream_revive(streams[1]));
    OK(ABT_thread_free(&t));
    EXPECT_EQ(1, ran.load());
}

TEST_F(argobots, xstream_exit_ends_the_ult_and_its_stream) {
    add_streams(1);
    std::atomic<int> ran{0};
    std::function<void()> body = [&] {
        ++ran;
        ABT_xstream_exit();
        ++ran;
    };
    ABT_thread t = start(pools[1], body);
    OK(ABT_thread_free(&t));
    OK(ABT_xstream_join(streams[1]));
    EXPECT_EQ(1, ran.load());
}

TEST_F(argobots, the_main_scheduler_is_replaced_while_it_runs) {
    OK(ABT_xstream_set_main_sched_basic(streams[0], ABT_SCHED_PRIO, 0, nullptr));
    ABT_sched now = ABT_SCHED_NULL;
    int n = 0;
    OK(ABT_xstream_get_main_sched(streams[0], &now));
    OK(ABT_sched_get_num_pools(now, &n));
    EXPECT_EQ(3, n);
    std::atomic<int> ran{0};
    std::function<void()> body = [&] { ++ran; };
    ABT_thread t = start(first_pool(streams[0]), body);
    OK(ABT_thread_free(&t));
    EXPECT_EQ(1, ran.load());
}

TEST_F(argobots, a_scheduler_in_a_pool_ends_with_its_work) {
    ABT_pool inner = ABT_POOL_NULL;
    OK(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &inner));
    ABT_sched sched = ABT_SCHED_NULL;
    OK(ABT_sched_create_basic(ABT_SCHED_BASIC, 1, &inner, ABT_SCHED_CONFIG_NULL, &sched));
    std::atomic<int> ran{0};
    std::function<void()> body = [&] {
        ABT_thread_yield();
        ++ran;
    };
    std::vector<ABT_thread> threads;
    for (int i = 0; i < 10; ++i) threads.push_back(start(inner, body));
    OK(ABT_pool_add_sched(pools[0], sched));
    for (ABT_thread &t : threads) OK(ABT_thread_free(&t));
    EXPECT_EQ(10, ran.load());
}

TEST_F(argobots, finalize_runs_what_is_left) {
    static std::atomic<int> ran;
    ran = 0;
    for (int i = 0; i < 10; ++i)
        OK(ABT_thread_create(
            pools[0], [](void *) { ++ran; }, nullptr, ABT_THREAD_ATTR_NULL, nullptr));
    OK(ABT_finalize());
    EXPECT_EQ(10, ran.load());
    OK(ABT_init(0, nullptr));
}

TEST(argobots_init, is_counted_and_can_be_repeated) {
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_initialized());
    EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_finalize());
    for (int i = 0; i < 10; ++i) {
        OK(ABT_init(0, nullptr));
        OK(ABT_init(0, nullptr));
        OK(ABT_initialized());
        OK(ABT_finalize());
        OK(ABT_initialized());
        OK(ABT_finalize());
        EXPECT_EQ(ABT_ERR_UNINITIALIZED, ABT_initialized());
    }
}

TEST(argobots_init, may_be_called_by_any_thread) {
    std::thread([] {
        OK(ABT_init(0, nullptr));
        OK(ABT_finalize());
    }).join();
}

} // namespace
