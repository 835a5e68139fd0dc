// A process that forks while its other threads make and join threads of Comity's.
#include "comity/thread.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// Two kernel threads: one makes threads, the other, which holds no hart, joins them. What they free goes round over
// what all harts share.
class traffic {
public:
    ~traffic() {
        over_ = true;
        makes_.join();
        joins_.join();
    }

private:
    static constexpr unsigned most = 256;
    std::atomic<bool> over_{false};
    std::atomic<comity_thread_t *> made_[most] = {};
    std::atomic<bool> made_all_{false};
    std::thread makes_{[this] {
        comity_threads_begin();
        for (unsigned n = 0; !over_; ++n) {
            comity_thread_t *t = nullptr;
            if (made_[n % most]) {
                comity_thread_yield();
            } else if (comity_thread_create(
                           &t, nullptr, [](void *) -> void * { return nullptr; }, nullptr) == 0) {
                made_[n % most] = t;
            }
        }
        made_all_ = true;
        comity_threads_end();
    }};
    std::thread joins_{[this] {
        for (bool more = true; more;) {
            more = !made_all_;
            for (auto &t : made_)
                if (t) comity_thread_join(t.exchange(nullptr), nullptr);
        }
    }};
};

void make_many_threads() {
    const comity::threads scope;
    std::atomic<int> ran{0};
    std::vector<comity::thread> all;
    for (int i = 0; i < 300; ++i) all.emplace_back([&ran] { ++ran; });
    for (comity::thread &t : all) t.join();
    if (ran != 300) _exit(1);
}

} // namespace

TEST(fork, while_others_make_and_join_threads_leaves_a_child_that_can_make_some) {
    if (thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    if (address_sanitizer) GTEST_SKIP() << "a forked child may hang in AddressSanitizer's malloc";
    const traffic others;
    for (int i = 0; i < 300; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30); // a hang ends by a signal
            make_many_threads();
            _exit(0);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0) << "child " << i;
    }
}
