// The numbers by which programs know threads, as gettid tells them. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <set>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// How often it is another one than at first, wherever the thread is: on a hart, asleep in the kernel, back again.
int changes() {
    const pid_t first = gettid();
    int n = 0;
    for (int i = 0; i < 20; ++i) {
        n += gettid() != first;
        n += syscall(SYS_gettid) != first;
        usleep(100);
        n += gettid() != first;
        sched_yield();
    }
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return -1;
    auto writes = [&] { return write(ends[1], "", 1); };
    const pthread_t t = start(writes);
    char c = 1;
    n += read(ends[0], &c, 1) != 1;
    n += gettid() != first;
    pthread_join(t, nullptr);
    n += gettid() != first;
    close(ends[0]);
    close(ends[1]);
    return n;
}

} // namespace

TEST(ids, stay_and_are_the_threads_own) {
    constexpr int number = 8;
    static std::atomic<int> wrong;
    wrong = changes();
    EXPECT_EQ(getpid(), gettid());
    std::array<pid_t, number> ids{};
    std::array<pthread_t, number> threads{};
    static pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, number);
    for (int i = 0; i < number; ++i)
        pthread_create(
            &threads[i], nullptr,
            [](void *id) -> void * {
                *static_cast<pid_t *>(id) = gettid();
                wrong += changes();
                pthread_barrier_wait(&all);
                wrong += gettid() != *static_cast<pid_t *>(id);
                return nullptr;
            },
            &ids[i]);
    for (const pthread_t t : threads) pthread_join(t, nullptr);
    pthread_barrier_destroy(&all);
    EXPECT_EQ(0, wrong);
    std::set<pid_t> different(ids.begin(), ids.end());
    different.insert(gettid());
    EXPECT_EQ(number + 1U, different.size());
}

// As the kernel's ids do: a program may take a thread for an ended one that had the same.
TEST(ids, of_ended_threads_are_not_given_again_soon) {
    constexpr int number = 60;
    std::set<pid_t> different{gettid()};
    auto note = [&different] { different.insert(gettid()); };
    for (int i = 0; i < number; ++i) pthread_join(start(note), nullptr);
    EXPECT_EQ(number + 1U, different.size());
    auto in_child = [] {
        const pid_t child = fork();
        if (child == 0) {
            std::set<pid_t> own{gettid()};
            auto note_own = [&own] { own.insert(gettid()); };
            for (int i = 0; i < number; ++i) pthread_join(start(note_own), nullptr);
            _exit(own.size() == number + 1 ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
    };
    pthread_join(start(in_child), nullptr);
}

namespace {

thread_local bool is_here = false;
std::atomic<int> here{0}, elsewhere{0};
void note_where(int) { is_here ? ++here : ++elsewhere; }

} // namespace

TEST(ids, say_whom_a_signal_is_for) {
    here = elsewhere = 0;
    signal(SIGUSR1, note_where);
    std::atomic<pid_t> id{0};
    std::atomic<bool> over{false};
    auto target = [&] {
        is_here = true;
        id = gettid();
        while (!over) usleep(100);
        EXPECT_EQ(0, syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1)) << "itself: as raise";
        EXPECT_EQ(4, here);
    };
    const pthread_t t = start(target), bystander = [] {
        static auto f = [] { usleep(1'000); };
        return start(f);
    }();
    while (id == 0) usleep(100);
    const auto await = [](int n) {
        for (int i = 0; i < 5'000 && here + elsewhere < n; ++i) usleep(1'000);
        EXPECT_EQ(n, here);
    };
    EXPECT_EQ(0, tgkill(getpid(), id, 0));
    EXPECT_EQ(0, tgkill(getpid(), id, SIGUSR1));
    await(1);
    EXPECT_EQ(0, syscall(SYS_tgkill, getpid(), id.load(), SIGUSR1));
    await(2);
    EXPECT_EQ(0, syscall(SYS_tkill, id.load(), SIGUSR1));
    await(3);
    EXPECT_EQ(0, elsewhere);
    over = true;
    pthread_join(t, nullptr);
    pthread_join(bystander, nullptr);
    is_here = true; // main
    auto to_first = [] { EXPECT_EQ(0, tgkill(getpid(), getpid(), SIGUSR1)); };
    pthread_join(start(to_first), nullptr);
    await(5);
    EXPECT_EQ(0, elsewhere);
    is_here = false;
    signal(SIGUSR1, SIG_DFL);
    errno = 0;
    EXPECT_EQ(-1, tgkill(getpid(), 0x7ffffffe, SIGUSR1));
    EXPECT_EQ(ESRCH, errno);
}

// As debuggers call it.
TEST(ids, say_whom_a_signal_is_for_in_another_process) {
    auto stop_a_child = [] {
        const pid_t child = fork();
        if (child == 0)
            for (;;) pause();
        EXPECT_EQ(0, syscall(SYS_tkill, child, SIGSTOP));
        int status = 0;
        EXPECT_EQ(child, waitpid(child, &status, WUNTRACED));
        EXPECT_TRUE(WIFSTOPPED(status));
        EXPECT_EQ(0, syscall(SYS_tkill, child, SIGKILL));
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_TRUE(WIFSIGNALED(status));
        errno = 0;
        EXPECT_EQ(-1, syscall(SYS_tkill, 0x7ffffffe, SIGUSR1));
        EXPECT_EQ(ESRCH, errno);
    };
    pthread_join(start(stop_a_child), nullptr);
}

// A timer's, too: at least somebody has it.
TEST(ids, of_threads_serve_for_timers) {
    here = elsewhere = 0;
    signal(SIGUSR1, note_where);
    auto f = [] {
        is_here = true;
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGUSR1;
        event._sigev_un._tid = gettid();
        timer_t timer{};
        ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
        itimerspec once{};
        once.it_value.tv_nsec = 1'000'000;
        EXPECT_EQ(0, timer_settime(timer, 0, &once, nullptr));
        for (int i = 0; i < 5'000 && here + elsewhere == 0; ++i) usleep(1'000);
        EXPECT_EQ(1, here + elsewhere);
        timer_delete(timer);
    };
    pthread_join(start(f), nullptr);
    signal(SIGUSR1, SIG_DFL);
}

TEST(ids, of_a_child_are_its_own) {
    auto f = [] {
        const pid_t own = gettid(), child = fork();
        if (child == 0) {
            auto more = [] {
                if (gettid() == getpid()) _exit(2);
            };
            if (gettid() != getpid() || syscall(SYS_gettid) != getpid()) _exit(1);
            pthread_join(start(more), nullptr);
            _exit(gettid() == getpid() ? 0 : 3);
        }
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
        EXPECT_EQ(own, gettid());
        EXPECT_NE(getpid(), own);
    };
    pthread_join(start(f), nullptr);
}
