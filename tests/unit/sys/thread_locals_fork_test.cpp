// Thread-local variables that are renewed while the process forks.
#include "sys/thread_locals.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

TEST(thread_locals, are_renewed_in_the_child_of_a_fork_beside_threads_that_renew_theirs) {
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) comity::sys::renew_thread_locals();
    });
    for (int i = 0, status = 0; i < 100 && status == 0; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            comity::sys::renew_thread_locals();
            _exit(0);
        }
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
    }
    stop = true;
    other.join();
}
