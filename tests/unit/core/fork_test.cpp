// A process that forks while schedulers wait for harts.
#include "test_scheduler.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

// A thread with a root of its own, which keeps a hart busy.
class busy_thread {
public:
    busy_thread()
        : thread_([this] {
              test_scheduler s;
              s.register_here();
              busy_ = true;
              while (!over_) std::this_thread::yield();
              comity::scheduler::unregister();
          }) {
        while (!busy_) std::this_thread::yield();
    }
    void end() {
        over_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> busy_{false}, over_{false};
    std::thread thread_;
};

bool becomes_true(const std::atomic<bool> &flag) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!flag && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return flag;
}

} // namespace

TEST(fork, a_root_that_waits_for_a_hart_meanwhile_can_wait_for_one_in_the_child) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    ASSERT_EQ(comity_hart_count(), 2);
    test_scheduler root;
    root.register_here();
    std::atomic<bool> first{false}, second{false};
    busy_thread other;
    root.start([&] { first = true; }); // asks for the other hart, and is told to wait
    const pid_t child = fork();
    if (child == 0) {
        busy_thread another;
        root.start([&] { second = true; });
        another.end();
        _exit(becomes_true(second) ? 0 : 1); // this hart stays busy: only the other can have done it
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    other.end();
    EXPECT_TRUE(becomes_true(first));
    comity::scheduler::unregister();
}
