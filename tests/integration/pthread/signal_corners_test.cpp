// Actions, masks and timers of signals in their corners. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

// By both names: System V's, which <signal.h> makes of it here, and BSD's, which takes a mask.
extern "C" int __sigpause(int which_or_mask, int is_signal); // NOLINT(bugprone-reserved-identifier)
TEST(waits, of_older_names_end_with_a_handler) {
    const sigset_t one = only(SIGUSR1);
    signal(SIGUSR1, handler);
    for (const int is_signal : {1, 0}) {
        handled = 0;
        std::atomic<bool> is_blocked{false};
        auto f = [&] {
            pthread_sigmask(SIG_BLOCK, &one, nullptr);
            is_blocked = true;
            EXPECT_EQ(-1, is_signal ? sigpause(SIGUSR1) : __sigpause(0, 0));
            EXPECT_EQ(EINTR, errno);
            EXPECT_EQ(1, handled);
            EXPECT_TRUE(blocks(SIGUSR1));
        };
        const pthread_t t = start(f);
        while (!is_blocked) std::this_thread::yield();
        std::this_thread::sleep_for(2ms);
        EXPECT_EQ(0, handled);
        pthread_kill(t, SIGUSR1);
        pthread_join(t, nullptr);
    }
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

namespace {

// Changes masks between a sigsetjmp and a jump back, and says what is wrong after that; 0: nothing.
int masks_after_jumps() {
    const sigset_t one = only(SIGUSR1), other = only(SIGUSR2);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &other, &before);
    sigjmp_buf saved, not_saved;
    volatile int jumps = 0;
    volatile int wrong = 0;
    if (sigsetjmp(saved, 1) == 0) {
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        pthread_sigmask(SIG_UNBLOCK, &other, nullptr);
        siglongjmp(saved, 1);
    }
    wrong = wrong + blocks(SIGUSR1) + 2 * !blocks(SIGUSR2);
    if (sigsetjmp(not_saved, 0) == 0) {
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        siglongjmp(not_saved, 1);
    }
    wrong = wrong + 4 * !blocks(SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    // Back again and again by the same one, after waits.
    if (sigsetjmp(saved, 1) < 5) {
        usleep(1'000);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        raise(SIGUSR1); // delivered as it jumps
        jumps = jumps + 1;
        siglongjmp(saved, jumps);
    }
    wrong = wrong + 8 * blocks(SIGUSR1) + 16 * (jumps != 5);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return wrong;
}

thread_local sigjmp_buf *out = nullptr;

} // namespace

TEST(jumps, restore_the_threads_own_mask) {
    handled = 0;
    signal(SIGUSR1, handler);
    sigjmp_buf first;
    volatile bool jumped = false;
    if (sigsetjmp(first, 1) == 0) {
        auto f = [] { EXPECT_EQ(0, masks_after_jumps()); };
        pthread_join(start(f), nullptr);
        EXPECT_EQ(5, handled);
        EXPECT_EQ(0, masks_after_jumps());
        EXPECT_EQ(10, handled);
        const sigset_t one = only(SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        jumped = true;
        siglongjmp(first, 1); // to where there was perhaps no thread yet
    }
    EXPECT_TRUE(jumped);
    EXPECT_FALSE(blocks(SIGUSR1));
    signal(SIGUSR1, SIG_DFL);
}

TEST(jumps, out_of_handlers_restore_the_mask_from_before) {
    struct sigaction a {};
    a.sa_handler = [](int) {
        ++handled;
        siglongjmp(*out, 1);
    };
    a.sa_mask = only(SIGUSR2);
    sigaction(SIGUSR1, &a, nullptr);
    handled = 0;
    auto f = [] {
        sigjmp_buf here;
        out = &here;
        volatile int n = 0;
        sigsetjmp(here, 1);
        EXPECT_FALSE(blocks(SIGUSR1));
        EXPECT_FALSE(blocks(SIGUSR2));
        n = n + 1;
        if (n <= 10) raise(SIGUSR1);
        EXPECT_EQ(11, n);
    };
    pthread_join(start(f), nullptr);
    f();
    EXPECT_EQ(20, handled);
    signal(SIGUSR1, SIG_DFL);
}

// A second fault finds the signal open again, and others are not blocked, either.
TEST(jumps, out_of_handlers_of_faults_leave_nothing_blocked) {
    struct sigaction a {};
    a.sa_handler = [](int) { siglongjmp(*out, 1); };
    sigfillset(&a.sa_mask);
    struct sigaction before {};
    sigaction(SIGSEGV, &a, &before);
    handled = 0;
    signal(SIGUSR1, handler);
    auto f = [] {
        sigjmp_buf here;
        out = &here;
        volatile int n = 0;
        volatile int *volatile nowhere = nullptr;
        sigsetjmp(here, 1);
        n = n + 1;
        if (n % 4 == 0) usleep(1'000);
        if (n <= 10) *nowhere = 1;
        EXPECT_EQ(11, n);
        EXPECT_FALSE(blocks(SIGUSR1));
        EXPECT_EQ(0, syscall(SYS_kill, getpid(), SIGUSR1));
        for (int i = 0; i < 5'000 && handled == 0; ++i) usleep(1'000);
        EXPECT_EQ(1, handled);
        handled = 0;
    };
    pthread_join(start(f), nullptr);
    f();
    sigaction(SIGSEGV, &before, nullptr);
    signal(SIGUSR1, SIG_DFL);
}

namespace {
__attribute__((noinline)) void use_much_stack() {
    volatile char much[32 * 1024];
    for (volatile char &c : much) c = 'x';
}
} // namespace

// As setjmp in C: the mask stays that of the handler.
TEST(jumps, without_a_mask_leave_handlers_wherever_the_stack_is_used_then) {
    static thread_local jmp_buf here;
    signal(SIGUSR1, [](int) { longjmp(here, 1); });
    int wrong = 0;
    auto f = [&] {
        sigset_t before;
        pthread_sigmask(SIG_BLOCK, nullptr, &before);
        static thread_local int i;
        for (i = 0; i < 5; ++i) {
            if (_setjmp(here) == 0) raise(SIGUSR1);
            use_much_stack();
            wrong += !blocks(SIGUSR1);
            const sigset_t one = only(SIGUSR1);
            pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
            for (int signal = 1; signal < 32; ++signal) wrong += blocks(signal) != (sigismember(&before, signal) == 1);
        }
    };
    pthread_join(start(f), nullptr);
    f();
    EXPECT_EQ(0, wrong);
    signal(SIGUSR1, SIG_DFL);
}

// Who has jumped out of it does not wait for the signal any more.
TEST(jumps, out_of_a_wait_for_a_signal_leave_that_to_others) {
    static thread_local sigjmp_buf here;
    signal(SIGUSR2, [](int) { siglongjmp(here, 1); });
    static sigset_t set;
    set = only(SIGUSR1);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    std::atomic<bool> can_jump{false}, jumped{false}, over{false};
    std::atomic<int> got{0};
    auto jumps = [&] {
        int n = 0;
        if (sigsetjmp(here, 1) == 0) {
            can_jump = true;
            sigwait(&set, &n);
        }
        for (jumped = true; !over;) usleep(1'000);
    };
    auto waits = [&] {
        int n = 0;
        sigwait(&set, &n);
        got = n;
    };
    const pthread_t jumper = start(jumps);
    do usleep(5'000);
    while (!can_jump);
    pthread_kill(jumper, SIGUSR2);
    while (!jumped) usleep(1'000);
    const pthread_t waiter = start(waits);
    usleep(5'000);
    EXPECT_EQ(0, syscall(SYS_kill, getpid(), SIGUSR1));
    for (int i = 0; i < 5'000 && got == 0; ++i) usleep(1'000);
    EXPECT_EQ(SIGUSR1, got);
    if (got == 0) pthread_kill(waiter, SIGUSR1);
    over = true;
    pthread_join(jumper, nullptr);
    pthread_join(waiter, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    signal(SIGUSR2, SIG_DFL);
}

// Handlers that switch, on stacks below others, while their threads are sent more of the same.
TEST(masks, of_handlers_stay_while_threads_switch) {
    static std::atomic<int> inside, wrong;
    static std::atomic<bool> over;
    inside = wrong = 0;
    over = false;
    signal(SIGUSR1, [](int) {
        for (++inside; !over; sched_yield())
            if (!blocks(SIGUSR1)) ++wrong;
    });
    auto switches = [] {
        while (!over) sched_yield();
    };
    constexpr int handlers = 4;
    const pthread_t others[] = {start(switches), start(switches)};
    usleep(2'000);
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, std::size_t{16} << 20); // of another kind than those that are there
    pthread_t threads[handlers];
    for (pthread_t &t : threads) t = start(switches, &a);
    for (const pthread_t t : threads) pthread_kill(t, SIGUSR1);
    while (inside < handlers) usleep(1'000);
    for (const auto from = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - from < 30ms;)
        for (const pthread_t t : threads) pthread_kill(t, SIGUSR1);
    EXPECT_EQ(handlers, inside) << "in handlers";
    EXPECT_EQ(0, wrong);
    signal(SIGUSR1, SIG_IGN);
    over = true;
    for (const pthread_t t : threads) pthread_join(t, nullptr);
    for (const pthread_t t : others) pthread_join(t, nullptr);
    pthread_attr_destroy(&a);
    signal(SIGUSR1, SIG_DFL);
}

// By this signal Comity interrupts threads.
TEST(actions, for_urgent_data_do_not_keep_threads_at_their_harts) {
    auto nothing = [] {};
    pthread_join(start(nothing), nullptr);
    handled = 0;
    struct sigaction a {
    }, before{}, now{};
    a.sa_handler = handler;
    a.sa_flags = SA_RESTART;
    sigaction(SIGURG, &a, &before);
    EXPECT_EQ(SIG_DFL, before.sa_handler);
    std::atomic<bool> over{false};
    auto spins = [&] {
        while (!over) {
        }
    };
    auto ends = [&] { over = true; };
    const pthread_t spinners[] = {start(spins), start(spins)}, last = start(ends);
    for (const pthread_t t : spinners) pthread_join(t, nullptr);
    pthread_join(last, nullptr);
    EXPECT_EQ(0, handled) << "what Comity sends is not the program's";
    auto raises = [] { raise(SIGURG); };
    pthread_join(start(raises), nullptr);
    EXPECT_EQ(1, handled);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) _exit(syscall(SYS_kill, parent, SIGURG) == 0 ? 0 : 1);
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    while (handled < 2) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(2, handled);
    sigaction(SIGURG, &before, &now);
    EXPECT_EQ(handler, now.sa_handler);
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

// A thread that ends on a kernel thread of its own waits for a hart; there may be one only, and who has that sends it
// many which nobody takes.
TEST(pending, signals_of_threads_that_have_ended_take_no_room) {
    const int signal = SIGRTMIN + 1;
    const sigset_t blocked = only(signal);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    for (int i = 0; i < 8; ++i) {
        auto reader = [&] {
            char byte = 0;
            EXPECT_EQ(1, read(ends[0], &byte, 1));
            EXPECT_EQ(1, read(ends[0], &byte, 1)); // soon after, so that it stays away from the harts
        };
        const pthread_t t = start(reader);
        for (int j = 0; j < 2; ++j) {
            usleep(2'000);
            EXPECT_EQ(1, write(ends[1], "x", 1));
        }
        constexpr int a_quarter_of_what_may_pend = 4096;
        for (int sent = 0; sent < a_quarter_of_what_may_pend && pthread_sigqueue(t, signal, {}) == 0;) ++sent;
        pthread_join(t, nullptr);
    }
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(0, pthread_sigqueue(pthread_self(), signal, {}));
    timespec none{};
    EXPECT_EQ(signal, sigtimedwait(&blocked, nullptr, &none));
    pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
}

TEST(spinners, handle_signals_and_may_end_there) {
    pthread_spinlock_t l;
    pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&l);
    signal(SIGUSR1, [](int) { pthread_exit(&handled); });
    static std::atomic<bool> begun;
    begun = false;
    auto f = [&] {
        begun = true;
        pthread_spin_lock(&l);
    };
    const pthread_t t = start(f);
    while (!begun) sched_yield();
    EXPECT_EQ(0, pthread_kill(t, SIGUSR1));
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(&handled, result);
    signal(SIGUSR1, SIG_DFL);
    pthread_spin_unlock(&l);
    pthread_spin_destroy(&l);
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

// However many signals come: of the first thread, which alone takes them, and has a handler without SA_RESTART.
TEST(writes, that_need_not_sleep_are_not_ended_by_handlers) {
    static std::atomic<bool> stop;
    stop = false;
    handled = 0;
    struct sigaction action {};
    action.sa_handler = handler;
    ASSERT_EQ(0, sigaction(SIGUSR1, &action, nullptr));
    auto sends = [] {
        const sigset_t one = only(SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        while (!stop) kill(getpid(), SIGUSR1);
    };
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    const pthread_t t = start(sends);
    while (handled < 10) sched_yield();
    int ended = 0;
    for (int i = 0; i < 400; ++i) ended += write(ends[1], "x", 1) != 1;
    stop = true;
    pthread_join(t, nullptr);
    EXPECT_EQ(0, ended);
    close(ends[0]);
    close(ends[1]);
    signal(SIGUSR1, SIG_IGN); // the last ones may be under way
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
    signal(SIGUSR1, SIG_IGN); // the last ones may be under way
    signal(SIGUSR2, SIG_IGN);
}

// As the kernel wakes the first thread before others. Python's handlers of signals run there only, when its wait ends.
TEST(signals, to_the_process_end_the_first_threads_wait_whoever_sends_them) {
    static std::atomic<pthread_t> handled_by{0};
    struct sigaction a {
    }, before{};
    a.sa_handler = [](int) { handled_by = pthread_self(); };
    ASSERT_EQ(0, sigaction(SIGUSR2, &a, &before));
    sem_t s;
    sem_init(&s, 0, 0);
    for (int round = 0; round < 20; ++round) {
        handled_by = 0;
        std::atomic<bool> ended{false};
        auto f = [&] {
            usleep(1000);
            // It may come before the wait has begun.
            while (!ended) {
                kill(getpid(), SIGUSR2);
                usleep(5000);
            }
        };
        const pthread_t t = start(f);
        EXPECT_EQ(-1, sem_wait(&s));
        EXPECT_EQ(EINTR, errno);
        ended = true;
        EXPECT_TRUE(pthread_equal(handled_by, pthread_self()));
        pthread_join(t, nullptr);
    }
    sigaction(SIGUSR2, &before, nullptr);
}
