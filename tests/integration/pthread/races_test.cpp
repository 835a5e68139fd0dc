// What comes between the two halves of a call: signals that another thread takes, threads that end meanwhile. On
// Comity's threads, with more harts than cores, and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using clock_type = std::chrono::steady_clock;

std::atomic<int> handled{0};
void count(int) { ++handled; }

// The process gets one signal after the other, for a while; the caller takes none.
void send_some(int signal, int n) {
    for (int i = 0; i < n; ++i) {
        const int seen = handled;
        kill(getpid(), signal);
        const auto end = clock_type::now() + std::chrono::milliseconds(10);
        while (handled == seen && clock_type::now() < end) sched_yield();
    }
}

class with_signals : public testing::Test {
protected:
    void SetUp() override {
        struct sigaction a {};
        a.sa_handler = count;
        sigaction(SIGUSR1, &a, &before_);
    }
    void TearDown() override {
        pthread_sigmask(SIG_UNBLOCK, &only_usr1_, nullptr);
        sigaction(SIGUSR1, &before_, nullptr);
    }
    void block() {
        sigemptyset(&only_usr1_);
        sigaddset(&only_usr1_, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &only_usr1_, nullptr);
    }

private:
    struct sigaction before_ {};
    sigset_t only_usr1_{};
};

} // namespace

// All who wait are roused for it, one takes it, and the others find nothing.
TEST_F(with_signals, that_another_waiter_takes_let_nobody_through_a_barrier) {
    constexpr int waiters = 3;
    pthread_barrier_t b;
    pthread_barrier_init(&b, nullptr, waiters + 1);
    std::atomic<int> came{0}, through{0};
    std::vector<pthread_t> threads;
    auto wait = [&] {
        ++came;
        pthread_barrier_wait(&b);
        ++through;
    };
    for (int i = 0; i < waiters; ++i) threads.push_back(start(wait));
    while (came < waiters) sched_yield();
    block();
    send_some(SIGUSR1, 2000);
    EXPECT_EQ(0, through);
    pthread_barrier_wait(&b);
    for (const pthread_t t : threads) pthread_join(t, nullptr);
    pthread_barrier_destroy(&b);
}

TEST_F(with_signals, that_another_sleeper_takes_end_no_sleep) {
    std::atomic<bool> stop{false};
    std::atomic<int> early{0}, came{0};
    std::vector<pthread_t> threads;
    auto sleep = [&] {
        ++came;
        while (!stop) {
            const auto begin = clock_type::now();
            const timespec some{0, 20'000'000};
            if (nanosleep(&some, nullptr) == 0 && clock_type::now() - begin < std::chrono::milliseconds(20)) ++early;
        }
    };
    for (int i = 0; i < 3; ++i) threads.push_back(start(sleep));
    while (came < 3) sched_yield();
    block();
    send_some(SIGUSR1, 2000);
    stop = true;
    for (const pthread_t t : threads) pthread_join(t, nullptr);
    EXPECT_EQ(0, early);
}

// It has the memory of the process, but not its signals (a debugger starts programs so).
TEST_F(with_signals, are_not_changed_by_the_child_of_a_vfork) {
    auto nothing = [] {};
    pthread_join(start(nothing), nullptr);
    block();
    int status = 0;
    const pid_t child = vfork();
    if (child == 0) {
        struct sigaction usual {
        }, was{};
        usual.sa_handler = SIG_DFL;
        const bool told = sigaction(SIGUSR1, &usual, &was) == 0 && was.sa_handler == count;
        sigset_t all, none;
        sigemptyset(&none);
        const bool blocked = sigprocmask(SIG_SETMASK, &none, &all) == 0 && sigismember(&all, SIGUSR1) == 1;
        _exit(told && blocked ? 7 : 8);
    }
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(7, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_EQ(1, sigismember(&now, SIGUSR1));
    const int before = handled;
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(before, handled);
    sigdelset(&now, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &now, nullptr);
    EXPECT_EQ(before + 1, handled);
}

// The request comes as its thread ends, and the next thread has the same memory: it is another's.
TEST(cancellation, of_a_thread_that_ends_meanwhile_reaches_no_other) {
    std::atomic<pthread_t> victim{};
    std::atomic<bool> stop{false};
    std::atomic<int> empty{0};
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    auto cancel = [&] {
        while (!stop)
            if (const pthread_t t = victim.exchange({}))
                pthread_cancel(t);
            else
                sched_yield();
    };
    auto sleep = [] { pause(); };
    auto take = [&] {
        char c;
        for (int i = 0; i < 3; ++i)
            if (read(ends[0], &c, 1) != 1) ++empty;
    };
    const pthread_t canceller = start(cancel);
    const auto end = clock_type::now() + std::chrono::milliseconds(700);
    while (clock_type::now() < end && empty == 0) {
        const pthread_t t = start(sleep);
        victim = t;
        pthread_join(t, nullptr);
        const pthread_t readers[] = {start(take), start(take)};
        ASSERT_EQ(6, write(ends[1], "123456", 6));
        for (const pthread_t r : readers) pthread_join(r, nullptr);
    }
    EXPECT_EQ(0, empty);
    stop = true;
    pthread_join(canceller, nullptr);
    close(ends[0]);
    close(ends[1]);
}
