// Signals that come by signalfd. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

std::atomic<int> handled{0};
void handler(int) { ++handled; }

sigset_t only(int signal) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, signal);
    return s;
}

// The next signal that the descriptor brings within a while; 0: none.
int next_of(int fd, signalfd_siginfo &s) {
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, 5'000) != 1) return 0;
    return read(fd, &s, sizeof s) == sizeof s ? static_cast<int>(s.ssi_signo) : 0;
}

} // namespace

TEST(descriptors, bring_signals_that_all_threads_block) {
    sigset_t set = only(SIGUSR1), before;
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGRTMIN + 2);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    const int fd = signalfd(-1, &set, SFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    std::atomic<bool> over{false};
    auto other = [&] {
        while (!over) usleep(1'000);
    };
    const pthread_t t = start(other);
    signalfd_siginfo s{};
    EXPECT_EQ(0, syscall(SYS_kill, getpid(), SIGUSR1)) << "by the kernel";
    EXPECT_EQ(SIGUSR1, next_of(fd, s));
    EXPECT_EQ(SI_USER, s.ssi_code);
    EXPECT_EQ(getpid(), static_cast<pid_t>(s.ssi_pid));
    auto reads = [&] {
        signalfd_siginfo own{};
        EXPECT_EQ(SIGRTMIN + 2, next_of(fd, own));
        EXPECT_EQ(4711, own.ssi_int);
        kill(getpid(), SIGUSR1);
        pollfd at_once{fd, POLLIN, 0};
        EXPECT_EQ(1, poll(&at_once, 1, 0));
        EXPECT_EQ(SIGUSR1, next_of(fd, own));
        raise(SIGUSR1);
        EXPECT_EQ(SIGUSR1, next_of(fd, own));
    };
    const pthread_t reader = start(reads);
    sigval v{};
    v.sival_int = 4711;
    sigqueue(getpid(), SIGRTMIN + 2, v);
    pthread_join(reader, nullptr);
    const pid_t child = fork();
    if (child == 0) _exit(3);
    EXPECT_EQ(SIGCHLD, next_of(fd, s));
    EXPECT_EQ(child, static_cast<pid_t>(s.ssi_pid));
    EXPECT_EQ(3, s.ssi_status);
    EXPECT_EQ(child, waitpid(child, nullptr, 0));
    // Another set, without waiting.
    const sigset_t one = only(SIGUSR1);
    EXPECT_EQ(fd, signalfd(fd, &one, 0));
    sigqueue(getpid(), SIGRTMIN + 2, v);
    pollfd p{fd, POLLIN, 0};
    EXPECT_EQ(0, poll(&p, 1, 20));
    EXPECT_EQ(SIGRTMIN + 2, sigwaitinfo(&set, nullptr)) << "it stays pending";
    over = true;
    pthread_join(t, nullptr);
    close(fd);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// One that a thread does not block is handled there.
TEST(descriptors, leave_signals_to_threads_that_take_them) {
    handled = 0;
    signal(SIGUSR1, handler);
    const sigset_t set = only(SIGUSR1);
    sigset_t before;
    const int fd = signalfd(-1, &set, SFD_NONBLOCK);
    auto takes = [] {
        while (handled == 0) usleep(1'000);
    };
    const pthread_t t = start(takes);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGUSR1);
    pthread_join(t, nullptr);
    EXPECT_EQ(1, handled);
    signalfd_siginfo s{};
    EXPECT_EQ(-1, read(fd, &s, sizeof s));
    EXPECT_EQ(EAGAIN, errno);
    close(fd);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    signal(SIGUSR1, SIG_DFL);
}

// Also where the program has moved the descriptor to another number, and where a thread that is not there would take
// the signal.
TEST(descriptors, of_the_child_of_a_fork_bring_what_that_is_sent) {
    const sigset_t set = only(SIGUSR1);
    sigset_t before;
    std::atomic<bool> over{false};
    auto takes = [&] {
        while (!over) usleep(1'000);
    };
    const pthread_t t = start(takes);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    const int first = signalfd(-1, &set, SFD_CLOEXEC), fd = fcntl(first, F_DUPFD_CLOEXEC, 100);
    close(first);
    auto nothing = [] {};
    pthread_join(start(nothing), nullptr);
    const int again = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    const pid_t child = fork();
    if (child == 0) {
        const bool keeps_flags = (fcntl(again, F_GETFL) & O_NONBLOCK) && fcntl(again, F_GETFD) == FD_CLOEXEC;
        kill(getpid(), SIGUSR1);
        signalfd_siginfo s{};
        _exit(keeps_flags && next_of(again, s) == SIGUSR1 && static_cast<pid_t>(s.ssi_pid) == getpid() ? 3 : 4);
    }
    int status = 0;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(3, WEXITSTATUS(status));
    close(again);
    over = true;
    pthread_join(t, nullptr);
    kill(getpid(), SIGUSR1);
    signalfd_siginfo s{};
    EXPECT_EQ(SIGUSR1, next_of(fd, s));
    close(fd);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(SIGUSR1, sigwaitinfo(&set, nullptr)) << "no descriptor asks for it any more";
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(descriptors, bring_more_than_fit_at_once) {
    constexpr int number = 1'000;
    const sigset_t set = only(SIGRTMIN + 2);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    const int fd = signalfd(-1, &set, SFD_CLOEXEC);
    auto nothing = [] {};
    pthread_join(start(nothing), nullptr);
    for (const bool to_thread : {false, true}) {
        for (int i = 0; i < number; ++i) {
            sigval v{};
            v.sival_int = i;
            ASSERT_EQ(0, to_thread ? pthread_sigqueue(pthread_self(), SIGRTMIN + 2, v)
                                   : sigqueue(getpid(), SIGRTMIN + 2, v));
        }
        usleep(5'000);
        for (int i = 0; i < number; ++i) {
            signalfd_siginfo s{};
            ASSERT_EQ(SIGRTMIN + 2, next_of(fd, s)) << i;
            ASSERT_EQ(i, s.ssi_int);
        }
    }
    close(fd);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
