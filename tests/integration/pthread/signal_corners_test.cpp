// Actions, masks and timers of signals in their corners. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

std::atomic<int> handled{0};
void handler(int) { ++handled; }

sigset_t only(int signal) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, signal);
    return s;
}

bool blocks(int signal) {
    sigset_t now;
    sigemptyset(&now);
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    return sigismember(&now, signal) == 1;
}

} // namespace

extern "C" sighandler_t __sysv_signal(int, sighandler_t) noexcept; // NOLINT(bugprone-reserved-identifier)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(actions, have_older_names) {
    handled = 0;
    signal(SIGUSR1, handler);
    static std::atomic<int> of_system_v;
    of_system_v = 0;
    auto f = [] {
        EXPECT_EQ(handler, __sysv_signal(SIGUSR1, [](int) { ++of_system_v; }));
        raise(SIGUSR1);
        EXPECT_EQ(SIG_DFL, signal(SIGUSR1, handler)) << "one for one time only";
        EXPECT_EQ(0, sighold(SIGUSR1));
        EXPECT_TRUE(blocks(SIGUSR1));
        EXPECT_EQ(SIG_HOLD, sigset(SIGUSR1, handler));
        EXPECT_FALSE(blocks(SIGUSR1));
        raise(SIGUSR1);
        struct sigaction a {};
        EXPECT_EQ(0, siginterrupt(SIGUSR1, 1));
        EXPECT_EQ(0, sigaction(SIGUSR1, nullptr, &a));
        EXPECT_EQ(0, a.sa_flags & SA_RESTART);
        EXPECT_EQ(0, siginterrupt(SIGUSR1, 0));
        EXPECT_EQ(0, sigaction(SIGUSR1, nullptr, &a));
        EXPECT_NE(0, a.sa_flags & SA_RESTART);
    };
    pthread_join(start(f), nullptr);
    EXPECT_EQ(1, of_system_v);
    EXPECT_EQ(1, handled);
    signal(SIGUSR1, SIG_DFL);
}
#pragma GCC diagnostic pop

TEST(actions, that_ignore_a_signal_forget_what_is_pending) {
    handled = 0;
    signal(SIGUSR1, handler);
    auto f = [] {
        const sigset_t one = only(SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        raise(SIGUSR1);
        kill(getpid(), SIGUSR1);
        signal(SIGUSR1, SIG_IGN);
        signal(SIGUSR1, handler);
        pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    };
    sigset_t one = only(SIGUSR1), before;
    pthread_sigmask(SIG_BLOCK, &one, &before); // none but the thread takes it
    pthread_join(start(f), nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(0, handled);
    signal(SIGUSR1, SIG_DFL);
}

TEST(masks, block_the_signal_of_abort) {
    handled = 0;
    signal(SIGABRT, handler);
    int while_blocked = -1, pending = -1;
    auto f = [&] {
        const sigset_t one = only(SIGABRT);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        raise(SIGABRT);
        while_blocked = handled;
        sigset_t sent;
        sigpending(&sent);
        pending = sigismember(&sent, SIGABRT);
        pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    };
    pthread_join(start(f), nullptr);
    EXPECT_EQ(0, while_blocked);
    EXPECT_EQ(1, pending);
    EXPECT_EQ(1, handled);
    signal(SIGABRT, SIG_DFL);
}

// In a process of its own, which has no other threads.
template <class F> int status_of_child(F f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        f();
        _exit(0);
    }
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    return status;
}

TEST(abort, runs_the_handler_and_ends_the_process) {
    const auto dies = [](bool with_handler) {
        const struct rlimit no_core {};
        setrlimit(RLIMIT_CORE, &no_core);
        if (with_handler) signal(SIGABRT, [](int) { _exit(77); });
        auto f = [] {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_BLOCK, &all, nullptr);
            std::abort();
        };
        pthread_join(start(f), nullptr);
    };
    const int with = status_of_child([&] { dies(true); }), without = status_of_child([&] { dies(false); });
    EXPECT_TRUE(WIFEXITED(with) && WEXITSTATUS(with) == 77) << with;
    EXPECT_TRUE(WIFSIGNALED(without) && WTERMSIG(without) == SIGABRT) << without;
}

TEST(pending, signals_of_the_first_thread_stay_its_own) {
    const int status = status_of_child([] {
        const sigset_t one = only(SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        raise(SIGUSR1);
        auto f = [] {
            sigset_t sent;
            sigpending(&sent);
            if (sigismember(&sent, SIGUSR1)) _exit(1);
        };
        pthread_join(start(f), nullptr);
        sigset_t sent;
        sigpending(&sent);
        if (!sigismember(&sent, SIGUSR1)) _exit(2);
    });
    EXPECT_EQ(0, status);
}

// Whoever has been sent a signal by another thread when its function returns handles it.
TEST(pending, signals_are_handled_before_the_end_of_a_thread) {
    handled = 0;
    signal(SIGUSR1, handler);
    sigset_t one = only(SIGUSR1), before;
    pthread_sigmask(SIG_BLOCK, &one, &before); // none but the threads take it
    constexpr int rounds = 4;
    for (int i = 0; i < rounds; ++i) {
        std::atomic<bool> runs{false}, sent{false};
        auto f = [&] {
            pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
            runs = true;
            while (!sent) {
            }
        };
        const pthread_t t = start(f);
        while (!runs) sched_yield();
        kill(getpid(), SIGUSR1);
        sent = true;
        pthread_join(t, nullptr);
        ASSERT_EQ(i + 1, handled);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    signal(SIGUSR1, SIG_DFL);
}

TEST(timers, have_one_signal_pending) {
    const int signal = SIGRTMIN + 1;
    const sigset_t one = only(signal);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &one, &before);
    sigevent e{};
    e.sigev_notify = SIGEV_SIGNAL;
    e.sigev_signo = signal;
    timer_t timer{};
    ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &e, &timer));
    const itimerspec often{{0, 1'000'000}, {0, 1'000'000}}, never{};
    ASSERT_EQ(0, timer_settime(timer, 0, &often, nullptr));
    std::this_thread::sleep_for(20ms);
    ASSERT_EQ(0, timer_settime(timer, 0, &never, nullptr));
    std::this_thread::sleep_for(5ms);
    int n = 0;
    const timespec at_once{};
    while (sigtimedwait(&one, nullptr, &at_once) == signal) ++n;
    EXPECT_GE(1, n);
    timer_delete(timer);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Two processes send without end, to a thread with a small stack that alone takes the signals.
TEST(frames, of_signals_do_not_pile_up) {
    static std::atomic<bool> stop;
    stop = false;
    handled = 0;
    signal(SIGUSR1, handler);
    signal(SIGUSR2, handler);
    sigset_t both = only(SIGUSR1), before;
    sigaddset(&both, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    const pid_t self = getpid();
    pid_t senders[2];
    for (int i = 0; i < 2; ++i) {
        senders[i] = fork();
        if (senders[i] != 0) continue;
        alarm(5);
        while (kill(self, i == 0 ? SIGUSR1 : SIGUSR2) == 0) {
        }
        _exit(0);
    }
    auto computes = [&] {
        pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
        while (!stop) sched_yield();
    };
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 << 10);
    const pthread_t t = start(computes, &a);
    pthread_attr_destroy(&a);
    std::this_thread::sleep_for(200ms);
    stop = true;
    for (const pid_t p : senders) {
        kill(p, SIGKILL);
        waitpid(p, nullptr, 0);
    }
    pthread_join(t, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_LT(0, handled);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
}
