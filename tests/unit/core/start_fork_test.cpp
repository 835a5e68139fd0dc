// A process that forks while another of its threads starts Comity; and a start by a thread that is to be cancelled.
// Comity must not have started in this program.
#include "comity/thread.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

// Runs f in a child of this process; true when it ended well, and soon.
template <class F> bool in_a_child(F f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(30); // a hang ends by a signal
        f();
        _exit(0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

void use_comity() {
    const comity::threads scope;
    bool ran = false;
    comity::thread t([&ran] { ran = true; });
    t.join();
    if (!ran) _exit(1);
}

void fork_after(std::chrono::microseconds delay) {
    std::atomic<bool> go{false};
    std::thread starts([&go] {
        while (!go) {
        }
        comity_hart_count();
    });
    go = true;
    for (const auto until = std::chrono::steady_clock::now() + delay; std::chrono::steady_clock::now() < until;) {
    }
    const bool well = in_a_child([] {
        use_comity();
        if (!in_a_child(use_comity)) _exit(1); // the fork handlers are there once, too
    });
    starts.join();
    if (!well || !in_a_child(use_comity)) _exit(1);
}

// Its start reads files and joins threads, which are cancellation points; then the program comes to its own.
void start_while_being_cancelled() {
    pthread_t thread;
    const auto function = [](void *started) -> void * {
        pthread_cancel(pthread_self());
        *static_cast<bool *>(started) = comity_hart_count() > 0;
        pthread_testcancel();
        return nullptr;
    };
    bool started = false;
    void *result = nullptr;
    if (pthread_create(&thread, nullptr, function, &started) != 0) _exit(1);
    pthread_join(thread, &result);
    if (!started || result != PTHREAD_CANCELED) _exit(1);
}

} // namespace

TEST(start, by_a_thread_that_is_to_be_cancelled_is_not_in_its_way) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    ASSERT_TRUE(in_a_child(start_while_being_cancelled));
}

TEST(fork, while_comity_starts_leaves_a_child_that_can_use_it) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    if (address_sanitizer) GTEST_SKIP() << "a forked child may hang in AddressSanitizer's malloc";
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(in_a_child([i] { fork_after(std::chrono::microseconds(10 * i)); })) << "after " << 10 * i << " us";
}
