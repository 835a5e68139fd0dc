// Waits at words of the program's own, by `syscall`, as other languages' libraries make them. On Comity's threads and
// on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csetjmp>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using word = std::atomic<std::uint32_t>;

// 0 or the error.
int wait_at(word &w, std::uint32_t expected, const timespec *limit = nullptr) {
    return syscall(SYS_futex, &w, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, limit) == 0 ? 0 : errno;
}
int wait_until(word &w, std::uint32_t expected, const timespec *deadline, std::uint32_t bits) {
    return syscall(SYS_futex, &w, FUTEX_WAIT_BITSET, expected, deadline, nullptr, bits) == 0 ? 0 : errno;
}
long wake(word &w, int n) { return syscall(SYS_futex, &w, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n); }

// A lock as in Rust's library: 0 free, 1 taken, 2 taken and waited for.
class word_lock {
public:
    void lock() {
        std::uint32_t seen = 0;
        if (w_.compare_exchange_strong(seen, 1)) return;
        while (w_.exchange(2) != 0) wait_at(w_, 2);
    }
    void unlock() {
        if (w_.exchange(0) == 2) wake(w_, 1);
    }

private:
    word w_{0};
};

timespec in(std::chrono::nanoseconds t, clockid_t from) {
    timespec now{};
    clock_gettime(from, &now);
    const auto sum = std::chrono::nanoseconds(now.tv_nsec) + t;
    return {now.tv_sec + sum / 1s, (sum % 1s).count()};
}

std::atomic<int> handled{0};
void handle(int) { ++handled; }

} // namespace

TEST(words, hand_a_turn_to_and_fro) {
    constexpr int rounds = 3000;
    word turn{0};
    const auto player = [&](std::uint32_t mine) {
        for (int i = 0; i < rounds; ++i) {
            while (turn != mine) wait_at(turn, 1 - mine);
            turn = 1 - mine;
            wake(turn, 1);
        }
    };
    auto first = [&] { player(0); };
    auto second = [&] { player(1); };
    const pthread_t a = start(first), b = start(second);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
    EXPECT_EQ(turn, 0U);
}

TEST(words, make_locks_that_many_threads_contend_for) {
    word_lock lock;
    int sum = 0;
    auto count = [&] {
        for (int i = 0; i < 2000; ++i) {
            lock.lock();
            ++sum;
            if (i % 64 == 0) sched_yield();
            lock.unlock();
        }
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < 8; ++i) all.push_back(start(count));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(sum, 16'000);
}

TEST(words, at_which_threads_wait_leave_their_harts_to_others) {
    word w{0};
    std::atomic<int> worked{0}, woken{0};
    auto waiter = [&] {
        while (w == 0) wait_at(w, 0);
        ++woken;
    };
    auto worker = [&] {
        for (int i = 0; i < 100; ++i) {
            ++worked;
            sched_yield();
        }
    };
    std::vector<pthread_t> waiters, workers;
    for (int i = 0; i < 20; ++i) waiters.push_back(start(waiter));
    for (int i = 0; i < 4; ++i) workers.push_back(start(worker));
    for (const pthread_t t : workers) pthread_join(t, nullptr);
    EXPECT_EQ(worked, 400);
    EXPECT_EQ(woken, 0);
    w = 1;
    wake(w, INT_MAX);
    for (const pthread_t t : waiters) pthread_join(t, nullptr);
    EXPECT_EQ(woken, 20);
}

TEST(words, keep_their_time_limits_and_errors) {
    auto function = [] {
        word w{1};
        EXPECT_EQ(wait_at(w, 0), EAGAIN);
        EXPECT_EQ(wait_until(w, 0, nullptr, FUTEX_BITSET_MATCH_ANY), EAGAIN);
        const auto begin = std::chrono::steady_clock::now();
        const timespec limit{0, 20'000'000};
        EXPECT_EQ(wait_at(w, 1, &limit), ETIMEDOUT);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
        const timespec deadline = in(20ms, CLOCK_MONOTONIC), passed{1, 0};
        EXPECT_EQ(wait_until(w, 1, &deadline, FUTEX_BITSET_MATCH_ANY), ETIMEDOUT);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 40ms);
        EXPECT_EQ(wait_until(w, 1, &passed, FUTEX_BITSET_MATCH_ANY), ETIMEDOUT);
        EXPECT_EQ(wait_until(w, 1, nullptr, 0), EINVAL);
        const timespec wrong{0, 1'000'000'000}, before_all{-1, 0};
        EXPECT_EQ(wait_at(w, 1, &wrong), EINVAL);
        EXPECT_EQ(wait_at(w, 1, &before_all), EINVAL);
        EXPECT_EQ(wait_at(w, 1, reinterpret_cast<const timespec *>(8)), EFAULT);
        EXPECT_EQ(wait_at(*reinterpret_cast<word *>(8), 1), EFAULT);
    };
    pthread_join(start(function), nullptr);
    function(); // the first thread
}

TEST(words, wake_those_alone_whose_bits_are_meant) {
    word w{0};
    std::atomic<unsigned> woken{0};
    const auto waiter = [&](unsigned bit) {
        EXPECT_EQ(wait_until(w, 0, nullptr, bit), 0);
        woken |= bit;
    };
    auto first = [&] { waiter(1); };
    auto second = [&] { waiter(2); };
    const pthread_t a = start(first), b = start(second);
    while (syscall(SYS_futex, &w, FUTEX_WAKE_BITSET, 1, nullptr, nullptr, 2) != 1) std::this_thread::sleep_for(1ms);
    pthread_join(b, nullptr);
    EXPECT_EQ(woken, 2U);
    while (syscall(SYS_futex, &w, FUTEX_WAKE_BITSET, 1, nullptr, nullptr, 1) != 1) std::this_thread::sleep_for(1ms);
    pthread_join(a, nullptr);
    EXPECT_EQ(woken, 3U);
}

// A handler without SA_RESTART ends the wait, one with it does not; and it runs meanwhile.
TEST(words, let_handlers_run) {
    for (const int flags : {0, SA_RESTART}) {
        struct sigaction action {};
        action.sa_handler = handle;
        action.sa_flags = flags;
        ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
        handled = 0;
        word w{0};
        std::atomic<int> result{-1};
        std::atomic<bool> begins{false};
        auto function = [&] {
            begins = true;
            result = wait_at(w, 0);
        };
        const pthread_t t = start(function);
        while (!begins) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(50ms);
        ASSERT_EQ(pthread_kill(t, SIGUSR1), 0);
        while (handled == 0) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(10ms);
        if (flags == SA_RESTART) {
            EXPECT_EQ(result, -1);
            w = 1;
            wake(w, 1);
        }
        pthread_join(t, nullptr);
        if (flags == 0) {
            EXPECT_EQ(result, EINTR);
        } else {
            EXPECT_TRUE(result == 0 || result == EAGAIN) << result; // it begins anew, on another kernel thread perhaps
        }
        EXPECT_EQ(handled, 1);
    }
}

TEST(words, are_no_cancellation_points) {
    word w{0};
    bool went_on = false;
    auto function = [&] {
        while (w == 0) wait_at(w, 0);
        went_on = true;
        pthread_testcancel();
        went_on = false;
    };
    const pthread_t t = start(function);
    std::this_thread::sleep_for(10ms);
    ASSERT_EQ(pthread_cancel(t), 0);
    std::this_thread::sleep_for(10ms);
    w = 1;
    wake(w, 1);
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(went_on);
}

TEST(words, leave_cancellation_as_it_was_after_a_jump_out_of_a_handler) {
    static thread_local sigjmp_buf here;
    signal(SIGUSR1, [](int) { siglongjmp(here, 1); });
    static word w;
    std::atomic<bool> waits{false};
    int state = -1;
    auto f = [&] {
        if (sigsetjmp(here, 1) == 0)
            for (waits = true;;) wait_at(w, 0);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    };
    const pthread_t t = start(f);
    while (!waits) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(5ms);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, nullptr);
    EXPECT_EQ(PTHREAD_CANCEL_ENABLE, state);
    signal(SIGUSR1, SIG_DFL);
}
