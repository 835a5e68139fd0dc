// Signals to POSIX threads, and cancellation at any point. On Comity's threads and on the C library's.
#include "../../unit/sanitizers.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

thread_local int here = 0; // of the thread that runs
std::atomic<int> handled{0}, handled_by{0}, came{0};
std::atomic<pthread_t> handler_self{};
sem_t posted;

void handler(int) {
    handled_by = here;
    handler_self = pthread_self();
    ++handled;
    sem_post(&posted);
}

// A handler for the time of a test.
class with_handler {
public:
    explicit with_handler(int signal, int flags = 0, void (*f)(int) = handler) : signal_(signal) {
        handled = 0;
        handled_by = 0;
        sem_init(&posted, 0, 0);
        struct sigaction a {};
        a.sa_handler = f;
        a.sa_flags = flags;
        sigaction(signal, &a, &before_);
    }
    ~with_handler() { sigaction(signal_, &before_, nullptr); }
    with_handler(const with_handler &) = delete;
    with_handler &operator=(const with_handler &) = delete;

private:
    int signal_;
    struct sigaction before_ {};
};

sigset_t only(int signal) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, signal);
    return s;
}

// The calling thread is known to its handler from here on.
void come(int number) {
    here = number;
    came = number;
}

// Time enough for a thread to come to its wait. Nothing depends on whether it has.
void a_moment() { std::this_thread::sleep_for(5ms); }

// A signal to the thread in its wait, until `over`: how often one may come does not matter to these tests.
template <class Over> void signal_until(pthread_t t, int signal, Over over) {
    while (!over()) {
        pthread_kill(t, signal);
        a_moment();
    }
}

} // namespace

TEST(signals, reach_the_thread_that_is_named_while_it_runs) {
    const with_handler h(SIGUSR1);
    std::atomic<int> ready{0};
    auto spinner = [&](int number) {
        here = number;
        ++ready;
        while (handled == 0) {
        }
    };
    auto first = [&] { spinner(1); };
    auto second = [&] { spinner(2); };
    const pthread_t a = start(first), b = start(second);
    while (ready != 2) sched_yield();
    EXPECT_EQ(0, pthread_kill(b, SIGUSR1));
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
    EXPECT_EQ(2, handled_by);
    EXPECT_TRUE(pthread_equal(b, handler_self.load()));
    EXPECT_EQ(1, handled);
}

TEST(signals, reach_a_thread_that_waits_for_a_mutex_which_it_gets_afterwards) {
    const with_handler h(SIGUSR1);
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<bool> has{false};
    auto f = [&] {
        come(3);
        pthread_mutex_lock(&m);
        has = true;
        pthread_mutex_unlock(&m);
    };
    pthread_mutex_lock(&m);
    const pthread_t t = start(f);
    while (came != 3) a_moment();
    a_moment();
    EXPECT_EQ(0, pthread_kill(t, SIGUSR1));
    sem_wait(&posted);
    EXPECT_EQ(3, handled_by);
    EXPECT_FALSE(has);
    pthread_mutex_unlock(&m);
    pthread_join(t, nullptr);
    EXPECT_TRUE(has);
}

TEST(signals, reach_a_thread_that_waits_at_a_condition_and_goes_on_waiting) {
    const with_handler h(SIGUSR1);
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    bool go = false;
    int woken = 0;
    auto f = [&] {
        come(4);
        pthread_mutex_lock(&m);
        while (!go) {
            EXPECT_EQ(0, pthread_cond_wait(&c, &m));
            ++woken;
        }
        pthread_mutex_unlock(&m);
    };
    const pthread_t t = start(f);
    while (came != 4) a_moment();
    a_moment();
    EXPECT_EQ(0, pthread_kill(t, SIGUSR1));
    while (sem_wait(&posted) != 0) {
    }
    EXPECT_EQ(4, handled_by);
    a_moment();
    pthread_mutex_lock(&m);
    go = true;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t, nullptr);
    EXPECT_EQ(1, woken);
}

TEST(signals, end_a_semaphores_wait_and_a_sleep) {
    const with_handler h(SIGUSR1, SA_RESTART);
    sem_t s;
    sem_init(&s, 0, 0);
    std::atomic<int> stage{0};
    auto f = [&] {
        const timespec long_time{100, 0};
        timespec left{};
        EXPECT_EQ(-1, nanosleep(&long_time, &left));
        EXPECT_EQ(EINTR, errno);
        EXPECT_GT(left.tv_sec, 50);
        stage = 1;
    };
    const pthread_t t = start(f);
    signal_until(t, SIGUSR1, [&] { return stage == 1; });
    pthread_join(t, nullptr);

    const with_handler ends(SIGUSR2);
    auto g = [&] {
        EXPECT_EQ(-1, sem_wait(&s));
        EXPECT_EQ(EINTR, errno);
        stage = 2;
    };
    const pthread_t u = start(g);
    signal_until(u, SIGUSR2, [&] { return stage == 2; });
    pthread_join(u, nullptr);
}

TEST(signals, end_a_read_unless_it_is_to_begin_anew) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    char c = 0;
    std::atomic<int> stage{0};
    const with_handler h(SIGUSR1);
    auto f = [&] {
        EXPECT_EQ(-1, read(ends[0], &c, 1));
        EXPECT_EQ(EINTR, errno);
        stage = 1;
    };
    const pthread_t t = start(f);
    signal_until(t, SIGUSR1, [&] { return stage == 1; });
    pthread_join(t, nullptr);

    const with_handler anew(SIGUSR2, SA_RESTART);
    auto g = [&] {
        come(5);
        EXPECT_EQ(1, read(ends[0], &c, 1));
        stage = 2;
    };
    const pthread_t u = start(g);
    while (came != 5) a_moment();
    a_moment();
    EXPECT_EQ(0, pthread_kill(u, SIGUSR2));
    while (handled == 0) a_moment();
    EXPECT_EQ(5, handled_by);
    EXPECT_EQ(1, stage);
    EXPECT_EQ(1, write(ends[1], "x", 1));
    pthread_join(u, nullptr);
    EXPECT_EQ(2, stage);
    close(ends[0]);
    close(ends[1]);
}

TEST(signals, end_a_poll) {
    const with_handler h(SIGUSR1, SA_RESTART);
    std::atomic<bool> over{false};
    auto f = [&] {
        EXPECT_EQ(-1, poll(nullptr, 0, 100'000));
        EXPECT_EQ(EINTR, errno);
        over = true;
    };
    const pthread_t t = start(f);
    signal_until(t, SIGUSR1, [&] { return over.load(); });
    pthread_join(t, nullptr);
}

TEST(signals, are_blocked_for_each_thread_by_itself) {
    const with_handler h(SIGUSR1);
    const sigset_t usr1 = only(SIGUSR1);
    std::atomic<int> stage{0};
    auto f = [&] {
        here = 6;
        pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
        stage = 1;
        while (stage != 2) sched_yield();
        sigset_t pending;
        sigpending(&pending);
        EXPECT_EQ(1, sigismember(&pending, SIGUSR1));
        EXPECT_EQ(0, handled);
        pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
        EXPECT_EQ(1, handled); // before the call returns
        EXPECT_EQ(6, handled_by);
    };
    auto other = [&] {
        for (int i = 0; i < 100; ++i) {
            sigset_t now;
            pthread_sigmask(SIG_SETMASK, nullptr, &now);
            EXPECT_EQ(0, sigismember(&now, SIGUSR1));
            sched_yield();
        }
    };
    const pthread_t t = start(f), o = start(other);
    while (stage != 1) sched_yield();
    EXPECT_EQ(0, pthread_kill(t, SIGUSR1));
    EXPECT_EQ(0, pthread_kill(t, SIGUSR1)); // one of the two is lost, as ever
    stage = 2;
    pthread_join(t, nullptr);
    pthread_join(o, nullptr);
    EXPECT_EQ(1, handled);
}

TEST(signals, masks_are_inherited) {
    const sigset_t usr2 = only(SIGUSR2);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &usr2, &before);
    auto f = [&] {
        sigset_t now;
        pthread_sigmask(SIG_SETMASK, nullptr, &now);
        EXPECT_EQ(1, sigismember(&now, SIGUSR2));
    };
    const pthread_t t = start(f);
    pthread_join(t, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(signals, to_the_process_are_taken_by_the_thread_that_waits_for_them) {
    const sigset_t usr1 = only(SIGUSR1);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &usr1, &before); // in all threads
    std::atomic<int> got{0};
    auto f = [&] {
        int s = 0;
        EXPECT_EQ(0, sigwait(&usr1, &s));
        got = s;
    };
    const pthread_t t = start(f);
    a_moment();
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        kill(parent, SIGUSR1); // from outside
        _exit(0);
    }
    pthread_join(t, nullptr);
    EXPECT_EQ(SIGUSR1, got);
    int status = 0;
    waitpid(child, &status, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(signals, to_the_process_run_a_handler_on_a_thread_that_does_not_block_them) {
    const with_handler h(SIGALRM, SA_RESTART);
    const sigset_t alrm = only(SIGALRM);
    auto f = [&] {
        here = 7;
        pthread_sigmask(SIG_UNBLOCK, &alrm, nullptr);
        const itimerval soon{{0, 0}, {0, 5000}};
        setitimer(ITIMER_REAL, &soon, nullptr);
        while (handled == 0) a_moment();
    };
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &alrm, &before);
    pthread_join(start(f), nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(7, handled_by);
}

TEST(signals, reach_the_first_thread_while_it_joins_another) {
    const with_handler h(SIGUSR1);
    here = 8;
    const pthread_t first = pthread_self();
    auto f = [&] {
        a_moment();
        pthread_kill(first, SIGUSR1);
        while (sem_wait(&posted) != 0) {
        }
    };
    const pthread_t t = start(f);
    pthread_join(t, nullptr);
    EXPECT_EQ(8, handled_by);
    here = 0;
}

TEST(signals, values_are_queued) {
    const int rt = SIGRTMIN + 3;
    const sigset_t set = only(rt);
    std::atomic<bool> sent{false};
    auto f = [&] {
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        for (int i = 1; i <= 5; ++i) {
            sigval v{};
            v.sival_int = i;
            EXPECT_EQ(0, pthread_sigqueue(pthread_self(), rt, v));
        }
        for (int i = 1; i <= 5; ++i) {
            siginfo_t info{};
            EXPECT_EQ(rt, sigwaitinfo(&set, &info));
            EXPECT_EQ(i, info.si_value.sival_int);
            EXPECT_EQ(SI_QUEUE, info.si_code);
        }
        const timespec soon{0, 1'000'000};
        EXPECT_EQ(-1, sigtimedwait(&set, nullptr, &soon));
        EXPECT_EQ(EAGAIN, errno);
        sent = true;
    };
    const pthread_t t = start(f);
    pthread_join(t, nullptr);
    EXPECT_TRUE(sent);
}

TEST(signals, suspend_waits_with_another_mask) {
    const with_handler h(SIGUSR1);
    const sigset_t usr1 = only(SIGUSR1);
    std::atomic<bool> blocked{false};
    auto f = [&] {
        sigset_t before, now;
        pthread_sigmask(SIG_BLOCK, &usr1, &before);
        blocked = true;
        EXPECT_EQ(-1, sigsuspend(&before));
        EXPECT_EQ(EINTR, errno);
        EXPECT_EQ(1, handled);
        pthread_sigmask(SIG_SETMASK, nullptr, &now);
        EXPECT_EQ(1, sigismember(&now, SIGUSR1));
    };
    const pthread_t t = start(f);
    while (!blocked) sched_yield();
    pthread_kill(t, SIGUSR1);
    pthread_join(t, nullptr);
}

TEST(signals, a_handler_may_leave_by_a_jump) {
    static thread_local sigjmp_buf where;
    const with_handler h(SIGUSR1, 0, [](int) { siglongjmp(where, 1); });
    std::atomic<int> times{0};
    auto f = [&] {
        for (int i = 0; i < 3; ++i)
            if (sigsetjmp(where, 1) == 0)
                raise(SIGUSR1);
            else
                ++times;
    };
    const pthread_t t = start(f);
    pthread_join(t, nullptr);
    EXPECT_EQ(3, times);
}

TEST(signals, many_to_many_threads_are_all_handled) {
    static thread_local std::atomic<int> mine;
    static std::atomic<int> all;
    all = 0;
    const with_handler h(SIGRTMIN + 1, SA_RESTART, [](int) {
        ++mine;
        ++all;
    });
    constexpr int threads = 8, each = 20;
    auto f = [&] {
        while (mine != each) mine % 2 == 0 ? static_cast<void>(sched_yield()) : a_moment();
    };
    std::vector<pthread_t> t;
    for (int i = 0; i < threads; ++i) t.push_back(start(f));
    for (int i = 0; i < each; ++i)
        for (const pthread_t to : t) EXPECT_EQ(0, pthread_kill(to, SIGRTMIN + 1));
    for (const pthread_t to : t) pthread_join(to, nullptr);
    EXPECT_EQ(threads * each, all);
}

TEST(signals, what_nobody_handles_ends_the_process) {
    EXPECT_EXIT(
        {
            auto f = [] {
                const sigset_t term = only(SIGTERM);
                pthread_sigmask(SIG_BLOCK, &term, nullptr);
                pthread_kill(pthread_self(), SIGTERM);
                pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
            };
            const pthread_t t = start(f);
            pthread_join(t, nullptr);
            _exit(0);
        },
        testing::KilledBySignal(SIGTERM), "");
}

TEST(signals, a_fault_is_handled_by_the_thread_that_has_it) {
    static thread_local sigjmp_buf where;
    const with_handler h(SIGSEGV, SA_NODEFER, [](int) {
        handled_by = here;
        siglongjmp(where, 1);
    });
    auto f = [] {
        here = 9;
        volatile int *none = nullptr;
        if (sigsetjmp(where, 1) == 0) *none = 1;
        here = 10;
    };
    const pthread_t t = start(f);
    pthread_join(t, nullptr);
    EXPECT_EQ(9, handled_by);
}

// ---- Cancellation where the thread does not ask

TEST(cancellation, ends_a_thread_that_spins_if_it_allows_that) {
    std::atomic<bool> ready{false};
    auto f = [&] {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
        ready = true;
        for (;;) asm volatile("" ::: "memory");
    };
    const pthread_t t = start(f);
    while (!ready) sched_yield();
    EXPECT_EQ(0, pthread_cancel(t));
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
}

TEST(cancellation, ends_a_thread_that_sleeps_in_the_kernel) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    auto reads = [&] {
        char c = 0;
        (void)!read(ends[0], &c, 1);
        ADD_FAILURE();
    };
    auto polls = [&] {
        poll(nullptr, 0, -1);
        ADD_FAILURE();
    };
    const pthread_t a = start(reads), b = start(polls);
    a_moment();
    for (const pthread_t t : {a, b}) {
        EXPECT_EQ(0, pthread_cancel(t));
        void *result = nullptr;
        pthread_join(t, &result);
        EXPECT_EQ(PTHREAD_CANCELED, result);
    }
    close(ends[0]);
    close(ends[1]);
}

TEST(cancellation, of_a_sleeper_waits_until_it_is_enabled) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::atomic<bool> has_read{false};
    auto f = [&] {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        char c = 0;
        EXPECT_EQ(1, read(ends[0], &c, 1));
        has_read = true;
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
        pthread_testcancel();
        ADD_FAILURE();
    };
    const pthread_t t = start(f);
    a_moment();
    EXPECT_EQ(0, pthread_cancel(t));
    a_moment();
    EXPECT_FALSE(has_read);
    ASSERT_EQ(1, write(ends[1], "x", 1));
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    close(ends[0]);
    close(ends[1]);
}

TEST(programs, that_a_thread_starts_have_its_mask) {
    if (address_sanitizer || thread_sanitizer) GTEST_SKIP() << "the programs would be preloaded without the sanitizer";
    char grep[] = "grep", what[] = "SigBlk", where[] = "/proc/self/status";
    char *const list[] = {grep, what, where, nullptr};
    std::string of_exec, of_spawn;
    auto output_of = [&](auto starts_program) {
        int ends[2];
        char line[64] = "";
        if (pipe(ends) != 0) return std::string("no pipe");
        const pid_t child = starts_program(ends[1]);
        close(ends[1]);
        const ssize_t n = read(ends[0], line, sizeof line); // sleeps, so that the thread comes back to its hart
        close(ends[0]);
        waitpid(child, nullptr, 0);
        return std::string(line, n > 0 ? static_cast<std::size_t>(n) : 0);
    };
    auto starts = [&] {
        const sigset_t own = only(SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &own, nullptr);
        of_exec = output_of([&](int to) {
            const pid_t child = fork();
            if (child != 0) return child;
            dup2(to, STDOUT_FILENO);
            execlp(grep, grep, what, where, nullptr);
            _exit(1);
        });
        of_spawn = output_of([&](int to) {
            posix_spawn_file_actions_t actions;
            posix_spawn_file_actions_init(&actions);
            posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
            pid_t child = 0;
            EXPECT_EQ(0, posix_spawnp(&child, grep, &actions, nullptr, list, environ));
            posix_spawn_file_actions_destroy(&actions);
            return child;
        });
        EXPECT_EQ(0, system("exit 0"));
    };
    pthread_join(start(starts), nullptr);
    EXPECT_EQ("SigBlk:\t0000000000000800\n", of_exec);
    EXPECT_EQ("SigBlk:\t0000000000000800\n", of_spawn);
}

namespace {

// What a child process returns; it is killed after a while.
template <class F> pid_t child_that(F f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(f());
    }
    return child;
}
int result_of(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

} // namespace

TEST(forks, leave_a_child_that_takes_signals_while_it_waits) {
    if (address_sanitizer || thread_sanitizer) GTEST_SKIP() << "it allows a child no threads, or no malloc";
    auto nothing = [] {};
    pthread_join(start(nothing), nullptr);
    const with_handler h(SIGUSR1);
    const pid_t child = child_that([] {
        while (sem_wait(&posted) != 0) {
        }
        return handled == 1 ? 0 : 1;
    });
    a_moment();
    kill(child, SIGUSR1);
    EXPECT_EQ(0, result_of(child));
    sem_destroy(&posted);
}

TEST(forks, leave_a_child_whose_threads_alone_take_signals) {
    if (address_sanitizer || thread_sanitizer) GTEST_SKIP() << "it allows a child no threads, or no malloc";
    static sigset_t set;
    set = only(SIGUSR2);
    auto waits = [] {
        int n = 0;
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        return sigwait(&set, &n), n;
    };
    auto takes = [&] { waits(); };
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    const pthread_t parents = start(takes);
    a_moment();
    const pid_t child = child_that([&] {
        const pthread_t childs = start(takes);
        pthread_join(childs, nullptr);
        return 0;
    });
    a_moment();
    kill(child, SIGUSR2);
    EXPECT_EQ(0, result_of(child));
    pthread_kill(parents, SIGUSR2);
    pthread_join(parents, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

namespace {

// Of a fork: they wait for a lock whose holder sends signals, and change masks and actions. Registered before the first
// thread begins.
pthread_mutex_t around_forks = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> prepares_forks{false};
sigset_t before_forks;
void leave_fork() {
    if (!prepares_forks) return;
    pthread_mutex_unlock(&around_forks);
    pthread_sigmask(SIG_SETMASK, &before_forks, nullptr);
}
const int prepared = pthread_atfork(
    [] {
        if (!prepares_forks) return;
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before_forks);
        pthread_mutex_lock(&around_forks);
    },
    leave_fork,
    [] {
        if (prepares_forks) signal(SIGUSR1, SIG_DFL);
        leave_fork();
    });

} // namespace

TEST(forks, may_be_prepared_by_waiting_and_by_blocking_signals) {
    if (address_sanitizer || thread_sanitizer) GTEST_SKIP() << "it allows a child no threads, or no malloc";
    static std::atomic<bool> stop;
    const with_handler h(SIGUSR1, SA_RESTART);
    ASSERT_EQ(0, prepared);
    prepares_forks = true;
    stop = false;
    auto sends = [] {
        while (!stop) {
            pthread_mutex_lock(&around_forks);
            poll(nullptr, 0, 1); // sleeps in the kernel
            raise(SIGUSR1);
            pthread_mutex_unlock(&around_forks);
            poll(nullptr, 0, 1);
        }
    };
    const pthread_t t = start(sends);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(0, result_of(child_that([] { return 0; })));
    stop = true;
    pthread_join(t, nullptr);
    prepares_forks = false;
    sem_destroy(&posted);
}
