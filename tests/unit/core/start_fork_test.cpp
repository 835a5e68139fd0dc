// A process that forks while another of its threads starts Comity; and a start by a thread that is to be cancelled.
// Comity must not have started in this program.
#include "comity/thread.hpp"

#include "../sanitizers.hpp"
#include "in_a_child.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

void use_comity() {
    const comity::threads scope;
    bool ran = false;
    comity::thread t([&ran] { ran = true; });
    t.join();
    if (!ran) _exit(1);
}

void throw_in_comity() {
    const comity::threads scope;
    comity::thread t([] { throw 1; });
    try {
        t.join();
    } catch (int) {
        return;
    }
    _exit(1);
}

// Another thread loads libraries meanwhile: in the child of such a fork nobody can load any more. It unloads none, for
// in the middle of that the C library's list of what is to be done at the end stays locked in the child.
void fork_beside_one_who_loads() {
    std::atomic<bool> stop{false};
    std::thread loads([&stop] {
        while (!stop) dlopen("libresolv.so.2", RTLD_NOW);
    });
    bool well = true;
    for (int i = 0; i < 20; ++i) well = in_a_child(throw_in_comity) && well;
    stop = true;
    loads.join();
    if (!well) _exit(1);
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

void wait_until(std::chrono::milliseconds from_now) {
    const comity::threads scope;
    comity::thread([from_now] { comity::this_thread::sleep_for(from_now); }).join();
}

// Another thread sets the process's first deadline when the fork has begun: this handler is called before those of
// Comity's constructors.
std::atomic<std::thread *> first_to_wait{nullptr};
void set_first_deadline() {
    if (first_to_wait) return;
    first_to_wait = new std::thread(wait_until, std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void fork_before_the_first_deadline() {
    comity_hart_count();
    if (pthread_atfork(set_first_deadline, nullptr, nullptr) != 0) _exit(1);
    const auto wait = [] { wait_until(std::chrono::milliseconds(5)); };
    const bool well = in_a_child([&] {
        wait();
        if (!in_a_child(wait)) _exit(1);
    });
    first_to_wait.load()->join();
    if (!well || !in_a_child(wait)) _exit(1);
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

TEST(fork, while_libraries_are_loaded_leaves_a_child_that_can_use_comity) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    if (address_sanitizer) GTEST_SKIP() << "a forked child may hang in AddressSanitizer's malloc";
    ASSERT_TRUE(in_a_child(fork_beside_one_who_loads));
}

TEST(fork, that_has_begun_before_the_first_deadline_leaves_a_child_in_which_one_passes) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    if (address_sanitizer) GTEST_SKIP() << "a forked child may hang in AddressSanitizer's malloc";
    ASSERT_TRUE(in_a_child(fork_before_the_first_deadline));
}
