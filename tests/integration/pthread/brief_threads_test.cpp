// Threads that mostly sleep in calls, and compute for microseconds in between, as a server's do. On Comity's threads
// and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct ends {
    int to_read = -1, to_write = -1;
    ends() {
        int two[2];
        EXPECT_EQ(0, pipe(two));
        to_read = two[0];
        to_write = two[1];
    }
    ~ends() {
        close(to_read);
        close(to_write);
    }
    ends(const ends &) = delete;
    ends &operator=(const ends &) = delete;
    void give() const { EXPECT_EQ(1, write(to_write, "x", 1)); }
    ssize_t take() const {
        char c = 0;
        return read(to_read, &c, 1);
    }
};

// Is the kernel thread of this id in a call that reads?
bool reads(pid_t id) {
    std::ifstream file("/proc/self/task/" + std::to_string(id) + "/syscall");
    long number = -1;
    return file >> number && number == SYS_read;
}

// As a server's: each input is answered in microseconds, and comes from another process.
TEST(readers_that_compute_briefly, are_in_calls_of_their_own) {
    const char *kept = std::getenv("COMITY_TLS_THREADS");
    if (kept && std::string(kept) == "0") GTEST_SKIP() << "not for threads whose kernel threads are away";
    constexpr int threads = 12, enough = 10; // so many do not read in the kernel all at once by chance
    std::vector<std::unique_ptr<ends>> to_child, to_parent;
    for (int i = 0; i < threads; ++i) {
        to_child.push_back(std::make_unique<ends>());
        to_parent.push_back(std::make_unique<ends>());
    }
    const pid_t child = fork();
    if (child == 0) {
        for (const auto &e : to_child) fcntl(e->to_read, F_SETFL, O_NONBLOCK);
        for (;; usleep(2000))
            for (int i = 0; i < threads; ++i)
                if (to_child[i]->take() == 1) to_parent[i]->give();
    }
    std::atomic<bool> is_over{false};
    std::atomic<pid_t> ids[threads] = {};
    auto ask = [&](int i) {
        ids[i] = static_cast<pid_t>(syscall(SYS_gettid));
        while (!is_over) {
            to_child[i]->give();
            EXPECT_EQ(1, to_parent[i]->take());
        }
    };
    std::vector<std::thread> askers;
    for (int i = 0; i < threads; ++i) askers.emplace_back(ask, i);
    long most = 0;
    for (int i = 0; i < 10'000 && most < enough; ++i) {
        usleep(1000);
        most = std::max(most, std::count_if(std::begin(ids), std::end(ids), [](pid_t id) { return reads(id); }));
    }
    EXPECT_GE(most, enough);
    is_over = true;
    for (std::thread &t : askers) t.join();
    kill(child, SIGKILL);
    EXPECT_EQ(child, waitpid(child, nullptr, 0));
}

// One that has no hart, since it mostly sleeps in calls, and now waits at a condition.
class at_a_condition : public testing::Test {
public:
    const ends e;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    std::atomic<bool> waits{false}, is_over{false};
    void lock() { EXPECT_EQ(0, pthread_mutex_lock(&mutex)); }
    void unlock() { EXPECT_EQ(0, pthread_mutex_unlock(&mutex)); }
    void read_briefly() {
        for (int i = 0; i < 20; ++i) EXPECT_EQ(1, e.take());
    }
    void feed() const {
        for (int i = 0; i < 20; ++i) {
            e.give();
            usleep(500);
        }
    }
    void wait() {
        read_briefly();
        lock();
        waits = true;
        while (!is_over) pthread_cond_wait(&condition, &mutex);
        unlock();
    }
    // Once it has left the mutex, in its wait.
    void await_wait() {
        feed();
        while (!waits) usleep(100);
        lock();
        unlock();
        usleep(5000); // nothing depends on whether it waits by then
    }
};

TEST_F(at_a_condition, a_brief_reader_is_woken) {
    auto run = [this] { wait(); };
    const pthread_t t = start(run);
    await_wait();
    lock();
    is_over = true;
    unlock();
    pthread_cond_signal(&condition);
    EXPECT_EQ(0, pthread_join(t, nullptr));
}

TEST_F(at_a_condition, a_brief_reader_is_cancelled_with_its_mutex) {
    auto run = [this] {
        struct left {
            at_a_condition &of; // whose mutex is held
            ~left() { EXPECT_EQ(0, pthread_mutex_unlock(&of.mutex)); }
        };
        read_briefly();
        lock();
        const left here{*this};
        waits = true;
        while (!is_over) pthread_cond_wait(&condition, &mutex);
    };
    const pthread_t t = start(run);
    await_wait();
    EXPECT_EQ(0, pthread_cancel(t));
    void *result = nullptr;
    EXPECT_EQ(0, pthread_join(t, &result));
    EXPECT_EQ(PTHREAD_CANCELED, result);
    EXPECT_EQ(0, pthread_mutex_trylock(&mutex));
    unlock();
}

std::atomic<int> runs{0};

TEST_F(at_a_condition, a_brief_reader_runs_handlers) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++runs; };
    EXPECT_EQ(0, sigaction(SIGUSR1, &action, nullptr));
    auto run = [this] { wait(); };
    const pthread_t t = start(run);
    await_wait();
    EXPECT_EQ(0, pthread_kill(t, SIGUSR1));
    while (runs == 0) usleep(100);
    lock();
    is_over = true;
    unlock();
    pthread_cond_signal(&condition);
    EXPECT_EQ(0, pthread_join(t, nullptr));
}

} // namespace
