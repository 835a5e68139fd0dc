// Who looks for input while kernel threads go idle and come back.
#include "core/carrier.hpp"
#include "core/input.hpp"
#include "core/runtime.hpp"
#include "sys/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <unistd.h>

namespace {

using namespace comity::core;
using namespace std::chrono_literals;

// A pipe, of which a report is due.
struct watched_pipe {
    int ends[2] = {-1, -1};
    descriptor *known = nullptr;
    std::uint32_t seen = 0;
    watched_pipe() {
        EXPECT_EQ(0, pipe(ends));
        known = descriptor_of(ends[0]);
        seen = known->reports.load();
        EXPECT_TRUE(watch(ends[0], *known, [](const void *) {}));
    }
    ~watched_pipe() {
        close(ends[0]);
        close(ends[1]);
    }
    watched_pipe(const watched_pipe &) = delete;
    watched_pipe &operator=(const watched_pipe &) = delete;
    void give() const { EXPECT_EQ(1, write(ends[1], "x", 1)); }
    bool is_reported_within(std::int64_t ns) const {
        const std::int64_t end = comity::sys::deadline_in(ns);
        while (known->reports.load() == seen && comity::sys::now_ns() < end) std::this_thread::yield();
        return known->reports.load() != seen;
    }
};

} // namespace

// The kernel thread that slept for input comes back, and leaves that to a hart that has just looked; but that one finds
// something else to do.
TEST(input, is_looked_for_when_who_has_slept_for_it_leaves_it_to_a_hart_that_computes) {
    constexpr std::int64_t second = 1'000'000'000;
    adopt();
    for (int i = 0; i < 20 && !HasFailure(); ++i) {
        const watched_pipe first, next;
        parker idle;
        std::thread sleeper([&] { idle.wait_idle(0); });
        std::this_thread::sleep_for(5ms); // then the timers' thread looks no more
        look_in_others_stead();
        first.give();
        EXPECT_TRUE(first.is_reported_within(10 * second));
        std::this_thread::sleep_for(1ms);
        next.give();
        EXPECT_TRUE(next.is_reported_within(10 * second));
        idle.wake();
        sleeper.join();
    }
}
