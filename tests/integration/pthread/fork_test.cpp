// Processes that fork beside threads. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <ctime>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

// The child's only thread returns from its function.
TEST(process, ends_with_the_thread_that_forked_it) {
    pid_t child = -1;
    auto f = [&] {
        child = fork();
        if (child == 0) alarm(30);
    };
    const pid_t parent = getpid();
    const pthread_t t = start(f);
    pthread_join(t, nullptr);
    ASSERT_EQ(parent, getpid());
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// The child's only thread, which the C library has made, leaves it.
TEST(process, ends_with_the_kernel_thread_that_forked_it) {
    auto nothing = [] {};
    pthread_join(start(nothing), nullptr);
    pid_t child = -1;
    auto f = [&] {
        child = fork();
        if (child != 0) return;
        alarm(20);
        pthread_exit(nullptr);
    };
    pthread_attr_t a;
    cpu_set_t cpus;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof cpus, &cpus));
    pthread_attr_init(&a);
    pthread_attr_setaffinity_np(&a, sizeof cpus, &cpus);
    pthread_join(start(f, &a), nullptr);
    pthread_attr_destroy(&a);
    int status = -1;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}

// Harts are at work while the process's first thread forks, which may have none itself.
TEST(process, threads_run_in_the_child_of_a_fork_beside_busy_threads) {
    std::atomic<bool> stop{false};
    auto nothing = [] {};
    auto make = [&] {
        while (!stop) pthread_join(start(nothing), nullptr);
    };
    std::array<pthread_t, 3> makers{};
    for (pthread_t &t : makers) t = start(make);
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            pthread_join(start(nothing), nullptr);
            _exit(0);
        }
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
        if (status != 0) break;
    }
    stop = true;
    for (const pthread_t t : makers) pthread_join(t, nullptr);
}

// Those that waited for a hart when one of them forked.
TEST(process, other_threads_do_not_go_on_in_the_child_of_a_fork) {
    std::atomic<bool> stop{false};
    std::atomic<int> turns{0};
    auto nothing = [] {};
    auto other = [&] {
        for (; !stop; ++turns) sched_yield();
    };
    auto forks = [&] {
        while (turns < 10) sched_yield();
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            const int before = turns;
            for (int i = 0; i < 20; ++i) {
                sched_yield();
                pthread_join(start(nothing), nullptr);
            }
            _exit(turns == before ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
    };
    const pthread_t others[] = {start(other), start(other), start(other)};
    const pthread_t forker = start(forks);
    pthread_join(forker, nullptr);
    stop = true;
    for (const pthread_t t : others) pthread_join(t, nullptr);
}

TEST(process, sleepers_do_not_wake_in_the_child_of_a_fork) {
    std::atomic<int> asleep{0}, woken{0};
    auto sleeps = [&] {
        ++asleep;
        usleep(60'000);
        ++woken;
    };
    auto nothing = [] {};
    auto forks = [&] {
        while (asleep < 3) sched_yield();
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            usleep(100'000);
            pthread_join(start(nothing), nullptr);
            _exit(woken == 0 ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
    };
    const pthread_t threads[] = {start(sleeps), start(sleeps), start(sleeps), start(forks)};
    for (const pthread_t t : threads) pthread_join(t, nullptr);
    EXPECT_EQ(3, woken);
}

struct meeting {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    int come = 0;
};

// Threads that meet, and are waited for at a condition and joined.
void use_threads() {
    alarm(20);
    meeting all;
    auto comes = [&] {
        for (int i = 0; i < 5; ++i) {
            pthread_mutex_lock(&all.m);
            ++all.come;
            pthread_cond_broadcast(&all.c);
            pthread_mutex_unlock(&all.m);
            usleep(100);
        }
    };
    std::array<pthread_t, 3> threads{};
    for (pthread_t &t : threads) t = start(comes);
    pthread_mutex_lock(&all.m);
    while (all.come < 15) pthread_cond_wait(&all.c, &all.m);
    pthread_mutex_unlock(&all.m);
    for (const pthread_t t : threads) pthread_join(t, nullptr);
}

void fork_and_use_threads(bool again) {
    const pid_t child = fork();
    if (child == 0) {
        use_threads();
        auto forks = [] { fork_and_use_threads(false); };
        if (again) pthread_join(start(forks), nullptr);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}

// One that the watch has taken off the harts forks as well as one that is on one, and the first thread; and the child
// forks again from a thread.
TEST(process, whoever_forks_may_use_threads_in_the_child) {
    std::atomic<bool> stop{false};
    auto computes = [&] {
        while (!stop) {
        }
    };
    auto sleeps = [&] {
        while (!stop) usleep(1000);
    };
    auto forks = [] {
        for (int i = 0; i < 3; ++i) fork_and_use_threads(i == 0);
    };
    auto forks_promoted = [] {
        for (const clock_t begin = clock(); clock() - begin < CLOCKS_PER_SEC / 5;) {
        }
        fork_and_use_threads(true);
    };
    const pthread_t others[] = {start(computes), start(sleeps), start(sleeps)};
    const pthread_t forkers[] = {start(forks), start(forks_promoted), start(forks)};
    forks();
    for (const pthread_t t : forkers) pthread_join(t, nullptr);
    stop = true;
    for (const pthread_t t : others) pthread_join(t, nullptr);
}

// The thread that forked ends before those that it has created in the child, one of whom joins it; as somebody does in
// the parent when it forks.
TEST(process, who_forked_can_be_joined_in_the_child) {
    auto f = [&] {
        static pthread_t forker;
        forker = pthread_self();
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            static auto joins = [] {
                void *result = nullptr;
                const int error = pthread_join(forker, &result);
                _exit(error == 0 && result == &forker ? 17 : 1);
            };
            start(joins);
            pthread_exit(&forker);
        }
        int status = 0;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 17) << status;
    };
    pthread_join(start(f), nullptr);
}

TEST(process, a_fork_from_a_thread_leaves_it_alone) {
    auto f = [] {
        const pid_t child = fork();
        if (child == 0) {
            std::thread t([] {});
            t.join();
            _exit(17);
        }
        int status = 0;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 17) << status;
    };
    for (int i = 0; i < 3; ++i) pthread_join(start(f), nullptr);
    f();
}

// Functions that are not known yet are looked up in the dynamic linker's list, whose lock glibc's child does not free.
TEST(process, threads_run_in_a_child_that_was_forked_while_others_were_created) {
    std::atomic<bool> stop{false};
    auto nothing = [] {};
    auto nothing_else = [] {};
    auto create = [&] {
        while (!stop) {
            pthread_join(start(nothing), nullptr);
            pthread_join(start(nothing_else), nullptr);
        }
    };
    std::array<pthread_t, 3> busy{};
    for (pthread_t &t : busy) t = start(create);
    for (int i = 0; i < 200 && !HasFailure(); ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            pthread_join(start(nothing), nullptr);
            pthread_join(start(nothing_else), nullptr);
            _exit(0);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << "fork " << i;
    }
    stop = true;
    for (const pthread_t t : busy) pthread_join(t, nullptr);
}
