// Deadlines when no kernel thread can be made to serve them: no memory for its stack.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <sys/resource.h>

using namespace std::chrono_literals;

namespace {
// While it lives, no further memory can be mapped.
class no_more_memory {
public:
    no_more_memory() {
        getrlimit(RLIMIT_AS, &before_);
        const rlimit none{1, before_.rlim_max};
        setrlimit(RLIMIT_AS, &none);
    }
    ~no_more_memory() { setrlimit(RLIMIT_AS, &before_); }
    no_more_memory(const no_more_memory &) = delete;
    no_more_memory &operator=(const no_more_memory &) = delete;

private:
    rlimit before_{};
};
} // namespace

TEST(timer_refused, waits_end_all_the_same_and_others_run_meanwhile) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "a sanitizer maps memory whenever it likes";
    const comity::threads scope;
    comity::event there, never;
    bool ran = false, slept = false;
    comity::thread([] {}).join(); // what threads need is there
    {
        comity::thread waits([&] {
            const no_more_memory from_now_on;
            const auto from = std::chrono::steady_clock::now();
            EXPECT_FALSE(never.wait_for(5ms));
            EXPECT_GE(std::chrono::steady_clock::now() - from, 5ms);
            EXPECT_TRUE(there.wait_for(1h));
            comity::this_thread::sleep_for(2ms);
            slept = true;
        });
        comity::thread sets([&] {
            ran = true;
            there.set();
        });
    }
    EXPECT_TRUE(ran && slept);
    EXPECT_FALSE(never.wait_for(1ms)); // tried again, and had
}
