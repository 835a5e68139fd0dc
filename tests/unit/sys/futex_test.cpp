#include "sys/futex.hpp"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "sys/clock.hpp"

using namespace comity::sys;

TEST(futex, a_word_that_differs_does_not_wait) {
    std::atomic<std::uint32_t> word{1};
    EXPECT_EQ(futex_wait(word, 0), wait_result::changed);
}

TEST(futex, a_deadline_that_has_passed_times_out_at_once) {
    std::atomic<std::uint32_t> word{0};
    errno = EDOM;
    EXPECT_EQ(futex_wait(word, 0, now_ns() - 1), wait_result::timed_out);
    EXPECT_EQ(futex_wait(word, 0, INT64_MIN), wait_result::timed_out);
    EXPECT_EQ(futex_wait_for(word, 0, -5), wait_result::timed_out);
    EXPECT_EQ(errno, EDOM);
}

TEST(futex, a_duration_is_waited_in_full) {
    std::atomic<std::uint32_t> word{0};
    const std::int64_t start = now_ns();
    wait_result result{};
    do result = futex_wait_for(word, 0, 20'000'000 - (now_ns() - start));
    while (result == wait_result::woken);
    EXPECT_EQ(result, wait_result::timed_out);
    EXPECT_GE(now_ns() - start, 20'000'000);
}

TEST(futex, a_wake_ends_an_endless_wait_and_counts_the_sleepers) {
    for (const std::int64_t duration : {INT64_MAX, INT64_MAX / 2}) {
        std::atomic<std::uint32_t> word{0};
        std::atomic<bool> back{false};
        std::thread sleeper([&] {
            while (word.load() == 0) (void)futex_wait_for(word, 0, duration);
            back = true;
        });
        word = 1;
        while (!back) (void)futex_wake(word);
        sleeper.join();
        EXPECT_EQ(futex_wake_all(word), 0);
    }
}

TEST(futex, a_wake_of_nobody_wakes_nobody) {
    std::atomic<std::uint32_t> word{0};
    wait_result result{};
    std::thread sleeper([&] { result = futex_wait_for(word, 0, 50'000'000); });
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(futex_wake(word, 0), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sleeper.join();
    EXPECT_EQ(result, wait_result::timed_out);
}

TEST(futex, a_signal_shows_as_a_wake) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    struct sigaction before {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0); // no SA_RESTART
    std::atomic<std::uint32_t> word{0};
    std::atomic<bool> back{false};
    std::thread sleeper([&] {
        EXPECT_EQ(futex_wait(word, 0), wait_result::woken);
        back = true;
    });
    while (!back) {
        pthread_kill(sleeper.native_handle(), SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sleeper.join();
    sigaction(SIGUSR1, &before, nullptr);
}
