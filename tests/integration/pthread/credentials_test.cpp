// Users and groups are the process's, whichever thread changes them. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// Threads of each kind live meanwhile: one computes, one sleeps in the kernel, one waits for another thread.
template <class F> void beside_others(F f) {
    std::atomic<bool> over{false};
    std::array<int, 2> ends{};
    ASSERT_EQ(0, pipe(ends.data()));
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    auto computes = [&] {
        while (!over) {
        }
    };
    auto sleeps = [&] {
        char c = 0;
        while (read(ends[0], &c, 1) < 0) {
        }
    };
    auto waits = [&] {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    };
    const pthread_t others[] = {start(sleeps), start(waits), start(computes)};
    usleep(30'000); // the one that sleeps has been seen to do so
    pthread_join(start(f), nullptr);
    f();
    over = true;
    pthread_mutex_unlock(&mutex);
    EXPECT_EQ(1, write(ends[1], "", 1));
    for (const pthread_t t : others) pthread_join(t, nullptr);
    close(ends[0]);
    close(ends[1]);
}

// How many kernel threads there are whose status has another such line; -1: /proc cannot be read.
int kernel_threads_without(const char *line) {
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return -1;
    int without = 0;
    while (const dirent *task = readdir(tasks)) {
        if (task->d_name[0] == '.') continue;
        FILE *status = std::fopen(("/proc/self/task/" + std::string(task->d_name) + "/status").c_str(), "r");
        if (!status) continue; // it has ended
        bool found = false;
        char now[256];
        while (std::fgets(now, sizeof now, status)) found = found || std::strcmp(now, line) == 0;
        std::fclose(status);
        without += !found;
    }
    closedir(tasks);
    return without;
}

// One that is about to end is not told any more.
bool all_have(const char *line) {
    for (int i = 0; i < 1000; ++i) {
        if (kernel_threads_without(line) <= 0) return true;
        usleep(1'000);
    }
    return false;
}

} // namespace

TEST(credentials, are_set_by_any_thread) {
    beside_others([] {
        for (int i = 0; i < 20; ++i) {
            EXPECT_EQ(0, setuid(getuid()));
            EXPECT_EQ(0, setgid(getgid()));
        }
        EXPECT_EQ(0, seteuid(geteuid()));
        EXPECT_EQ(0, setegid(getegid()));
        EXPECT_EQ(0, setreuid(getuid(), geteuid()));
        EXPECT_EQ(0, setregid(getgid(), getegid()));
        EXPECT_EQ(0, setresuid(getuid(), geteuid(), getuid()));
        EXPECT_EQ(0, setresgid(getgid(), getegid(), getgid()));
    });
}

TEST(credentials, are_refused_as_by_the_c_library) {
    if (geteuid() == 0) GTEST_SKIP() << "root may have any";
    beside_others([] {
        errno = 0;
        EXPECT_EQ(-1, setuid(0));
        EXPECT_EQ(EPERM, errno);
    });
}

// In a child, since nothing brings them back.
TEST(credentials, are_those_of_all_kernel_threads) {
    if (geteuid() != 0) GTEST_SKIP() << "only root may have others";
    const pid_t child = fork();
    if (child == 0) {
        static std::atomic<int> wrong;
        wrong = 0;
        static constexpr gid_t groups[] = {4711};
        beside_others([] {
            static bool done = false; // first by a thread, then by main
            if (done
                    ? setuid(4711) != -1
                    : setgroups(1, groups) != 0 || setresgid(1000, 1001, 1002) != 0 || setresuid(1000, 1001, 1002) != 0)
                ++wrong;
            done = true;
            wrong += !all_have("Groups:\t4711 \n");
            wrong += !all_have("Gid:\t1000\t1001\t1002\t1001\n");
            wrong += !all_have("Uid:\t1000\t1001\t1002\t1001\n");
        });
        _exit(wrong);
    }
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}

// initgroups reads the machine's list of groups; whatever that says, it comes back.
TEST(credentials, are_set_by_name) {
    const pid_t child = fork();
    if (child == 0) {
        auto f = [] {
            const int result = initgroups("root", 0);
            if (result != (geteuid() == 0 ? 0 : -1)) _exit(1);
        };
        beside_others(f);
        _exit(0);
    }
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}
