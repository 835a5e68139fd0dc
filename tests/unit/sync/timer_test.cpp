// Timers: functions that are called at their time, once or again and again, and can be taken back.
#include "comity/sync.hpp"
#include "comity/sync/timer.hpp"
#include "comity/thread.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;
using comity::timer;
using clock_type = std::chrono::steady_clock;

TEST(timers, call_once_and_not_early) {
    const auto from = clock_type::now();
    std::atomic<int> calls{0};
    comity::event called;
    clock_type::time_point when;
    timer t([&]() noexcept {
        when = clock_type::now();
        ++calls;
        called.set();
    });
    t.start_in(5ms);
    called.wait();
    EXPECT_GE(when - from, 5ms);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(t.stop());
    t.start_at(clock_type::now() - 1h); // what has passed is called at once
    while (calls != 2) std::this_thread::yield();
}

TEST(timers, wake_threads_that_leave_their_hart_to_others_meanwhile) {
    const comity::threads scope;
    comity::semaphore beats(0);
    timer t([&]() noexcept { beats.release(); });
    t.start_every(200us);
    comity::thread([&] {
        for (int i = 0; i < 20; ++i) beats.acquire();
    }).join();
    EXPECT_TRUE(t.stop());
}

TEST(timers, that_are_stopped_call_no_more) {
    std::atomic<int> calls{0};
    timer t([&]() noexcept { ++calls; });
    t.start_in(1h);
    EXPECT_TRUE(t.stop());
    EXPECT_FALSE(t.stop());
    t.start_every(100us);
    while (calls < 3) std::this_thread::yield();
    EXPECT_TRUE(t.stop());
    const int n = calls;
    std::this_thread::sleep_for(3ms);
    EXPECT_EQ(calls, n);
}

TEST(timers, wait_for_a_call_that_is_under_way_when_they_are_stopped) {
    for (int i = 0; i < 50; ++i) {
        std::atomic<bool> inside{false}, over{false};
        timer t([&]() noexcept {
            inside = true;
            std::this_thread::sleep_for(200us);
            over = true;
        });
        t.start_in(0s);
        while (!inside) std::this_thread::yield();
        EXPECT_FALSE(t.stop());
        EXPECT_TRUE(over);
    }
}

TEST(timers, are_started_and_stopped_in_their_own_function) {
    static std::atomic<int> calls;
    static comity_timer_t t;
    calls = 0;
    comity_timer_init(&t);
    const auto second = [](void *) { ++calls; };
    static void (*next)(void *);
    next = second;
    EXPECT_EQ(comity_timer_start(
                  &t, comity_now(), 0,
                  [](void *) {
                      ++calls;
                      EXPECT_EQ(comity_timer_start(&t, comity_deadline_in(100'000), 0, next, nullptr), 0);
                  },
                  nullptr),
              0);
    while (calls < 2) std::this_thread::yield();
    comity_timer_stop(&t);

    EXPECT_EQ(comity_timer_start(
                  &t, comity_now(), 100'000,
                  [](void *) {
                      if (++calls == 6) {
                          EXPECT_EQ(comity_timer_stop(&t), 1);
                      }
                  },
                  nullptr),
              0);
    while (calls < 6) std::this_thread::yield();
    std::this_thread::sleep_for(3ms);
    EXPECT_EQ(calls, 6);
    EXPECT_EQ(comity_timer_stop(&t), 0);
}

TEST(timers, refuse_what_makes_no_sense) {
    comity_timer_t t = COMITY_TIMER_INIT;
    const auto nothing = [](void *) {};
    EXPECT_EQ(comity_timer_start(nullptr, 0, 0, nothing, nullptr), EINVAL);
    EXPECT_EQ(comity_timer_start(&t, 0, 0, nullptr, nullptr), EINVAL);
    EXPECT_EQ(comity_timer_start(&t, 0, -1, nothing, nullptr), EINVAL);
    EXPECT_EQ(comity_timer_stop(&t), 0);
    EXPECT_EQ(comity_timer_start(&t, COMITY_NO_DEADLINE, INT64_MAX, nothing, nullptr), 0);
    EXPECT_EQ(comity_timer_start(&t, 0, 0, nothing, nullptr), EBUSY);
    EXPECT_EQ(comity_timer_stop(&t), 1);
    timer twice([]() noexcept {});
    twice.start_in(1h);
    EXPECT_THROW(twice.start_in(1h), std::system_error);
}

// Started and stopped by several while they run out: whoever stops one may free it at once.
TEST(timers, may_go_as_soon_as_they_are_stopped) {
    const comity::threads scope;
    std::atomic<unsigned> calls{0};
    std::vector<comity::thread> all;
    for (unsigned n = 0; n < 4; ++n)
        all.emplace_back([&calls, n] {
            for (unsigned i = 0; i < 500; ++i) {
                auto call = [&calls]() noexcept { ++calls; };
                const auto t = std::make_unique<timer<decltype(call)>>(call);
                if ((i + n) % 2)
                    t->start_in(std::chrono::microseconds(i % 50));
                else
                    t->start_every(std::chrono::microseconds(1 + i % 20));
                if (i % 3 != 0) comity::this_thread::sleep_for(std::chrono::microseconds(i % 40));
                t->stop();
            }
        });
    all.clear();
    EXPECT_NE(calls, 0u);
}

TEST(timers, that_wait_call_in_the_child_of_a_fork_too) {
    if (thread_sanitizer) GTEST_SKIP() << "it lets no child of a fork start threads";
    std::atomic<int> calls{0};
    timer t([&]() noexcept { ++calls; });
    t.start_in(30ms);
    const pid_t child = fork();
    if (child == 0) {
        while (calls == 0) std::this_thread::yield();
        t.stop();
        _exit(calls == 1 ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    while (calls == 0) std::this_thread::yield();
}
