// Signals that the kernel sends to a thread for what it does, and what handlers are told of the interrupted code.
#include "start.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

std::atomic<pthread_t> handled_by{};
void note_who(int) { handled_by = pthread_self(); }

void set_handler(int signal, void (*handler)(int)) {
    struct sigaction a {};
    a.sa_handler = handler;
    sigaction(signal, &a, nullptr);
}

// Both ends of what is written to, of which nobody reads.
struct unread {
    int ends[2] = {-1, -1};
    explicit unread(bool is_socket) {
        EXPECT_EQ(0, is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends));
        close(ends[0]);
    }
    ~unread() { close(ends[1]); }
    void write_to() const {
        EXPECT_EQ(-1, write(ends[1], "x", 1));
        EXPECT_EQ(EPIPE, errno);
    }
};

class broken_pipe : public testing::TestWithParam<bool> {};

} // namespace

TEST_P(broken_pipe, is_told_to_who_writes) {
    const unread u(GetParam());
    set_handler(SIGPIPE, note_who);
    auto other = [] { usleep(50'000); }; // who could take it as well
    auto f = [&] {
        handled_by = pthread_t{};
        u.write_to();
        EXPECT_EQ(pthread_self(), handled_by);
    };
    const pthread_t o = start(other);
    pthread_join(start(f), nullptr);
    pthread_join(o, nullptr);
    f();
    set_handler(SIGPIPE, SIG_DFL);
}

// As libraries do that must not end the program.
TEST_P(broken_pipe, stays_pending_for_who_blocks_it) {
    const unread u(GetParam());
    auto f = [&] {
        sigset_t one, pending;
        sigemptyset(&one);
        sigaddset(&one, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        for (int i = 0; i < 100; ++i) {
            u.write_to();
            EXPECT_EQ(0, sigpending(&pending));
            EXPECT_TRUE(sigismember(&pending, SIGPIPE));
            const timespec at_once{};
            EXPECT_EQ(SIGPIPE, sigtimedwait(&one, nullptr, &at_once));
            EXPECT_EQ(-1, sigtimedwait(&one, nullptr, &at_once));
        }
        pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    };
    pthread_join(start(f), nullptr);
    usleep(50'000); // it would have ended the process
}

// Of `program | head`: who writes for the most part sleeps until there is room.
TEST_P(broken_pipe, ends_a_process_that_writes_on) {
    int ends[2];
    ASSERT_EQ(0, GetParam() ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends));
    const int child = fork();
    if (child == 0) {
        alarm(30);
        close(ends[0]);
        auto writes = [&] {
            static char much[65536];
            while (write(ends[1], much, sizeof much) != 0) {
            }
        };
        pthread_join(start(writes), nullptr);
        _exit(1);
    }
    close(ends[1]);
    static char some[65536];
    for (int i = 0; i < 20; ++i) {
        usleep(5'000);
        EXPECT_GT(read(ends[0], some, sizeof some), 0);
    }
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
}

INSTANTIATE_TEST_SUITE_P(of, broken_pipe, testing::Bool(),
                         [](const auto &socket) { return socket.param ? "sockets" : "pipes"; });

namespace {

// A child whose first thread, or else another one, sleeps in a call, and then ends with `returned`.
constexpr int returned = 7;
[[noreturn]] void sleep_and_end(bool is_first, int told) {
    set_handler(SIGTERM, note_who);
    set_handler(SIGTERM, SIG_DFL);
    auto sleeper = [told] {
        (void)!write(told, "x", 1);
        sleep(30);
        _exit(returned);
    };
    auto other = [] { sleep(30); };
    if (is_first) {
        start(other);
        sleeper();
    }
    start(sleeper);
    other();
    _exit(1);
}

} // namespace

class interrupted_call : public testing::TestWithParam<bool> {};

TEST_P(interrupted_call, does_not_return_where_the_process_ends) {
    for (int i = 0; i < 30; ++i) {
        int ends[2];
        ASSERT_EQ(0, pipe(ends));
        const pid_t child = fork();
        if (child == 0) sleep_and_end(GetParam(), ends[1]);
        char x = 0;
        EXPECT_EQ(1, read(ends[0], &x, 1));
        usleep(2'000);
        kill(child, SIGTERM);
        int status = 0;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
        for (const int end : ends) close(end);
    }
}

INSTANTIATE_TEST_SUITE_P(of, interrupted_call, testing::Bool(),
                         [](const auto &first) { return first.param ? "the_first_thread" : "another_one"; });

// Whoever else was there in the parent, and lets it in, is not there.
TEST(ending_signal, waits_in_a_child_whose_only_thread_blocks_it) {
    auto other = [] { usleep(400'000); };
    const pthread_t o = start(other);
    auto f = [] {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
        for (int i = 0; i < 50; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                const timespec long_enough{20, 0};
                _exit(sigtimedwait(&one, nullptr, &long_enough) == SIGTERM ? returned : 1);
            }
            kill(child, SIGTERM);
            int status = 0;
            EXPECT_EQ(child, waitpid(child, &status, 0));
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == returned) << status;
        }
        pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    };
    pthread_join(start(f), nullptr);
    pthread_join(o, nullptr);
}

#if defined __x86_64__ && !defined __SANITIZE_THREAD__
namespace {

std::atomic<int> inside{0}, outside{0};
std::atomic<bool> enough{false};

[[gnu::noinline]] void compute_until_enough() {
    while (!enough) {
    }
}

void sample(int, siginfo_t *, void *context) {
    const auto at = static_cast<std::uintptr_t>(static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
    const auto begin = reinterpret_cast<std::uintptr_t>(&compute_until_enough);
    ++(at >= begin && at < begin + 256 ? inside : outside);
    enough = inside >= 10 || outside >= 500;
}

} // namespace

// What profilers live by.
TEST(kernel_signals, a_handler_sees_where_the_thread_is) {
    const char *harts = getenv("COMITY_HARTS");
    if (harts && atoi(harts) == 1) GTEST_SKIP() << "with one hart the first thread takes it, where it waits";
    struct sigaction a {};
    a.sa_sigaction = sample;
    a.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &a, nullptr);
    auto f = [] { compute_until_enough(); };
    const pthread_t t = start(f);
    itimerval each{{0, 5'000}, {0, 5'000}};
    setitimer(ITIMER_PROF, &each, nullptr);
    pthread_join(t, nullptr);
    each = {};
    setitimer(ITIMER_PROF, &each, nullptr);
    usleep(20'000);
    signal(SIGPROF, SIG_IGN);
    EXPECT_GE(inside, 10);
    EXPECT_LT(outside, 100);
}
#endif
