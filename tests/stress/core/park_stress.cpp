// Park and wake: tokens pass between kernel threads, and none is lost, doubled, or comes before what it announces.
// Protocol "Park and wake": src/core/README.md.
#include "core/base.hpp"
#include "core/carrier.hpp"
#include "core/runtime.hpp"
#include "sys/clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using comity::core::parker;

// What a kernel thread of the ring has: its place to park, and what it is told there, written before the token.
struct place {
    parker park;
    long told = 0;
};

// How one waits: without end, spinning before, or with deadlines that mostly pass before the token comes.
void wait(parker &p, long n, long &passed) {
    if (n % 3 == 0) return p.wait_idle(nullptr);
    if (n % 3 == 1) return p.wait_idle(&comity::core::base().harts()[0]);
    while (!p.wait_until(comity::sys::now_ns() + n % 7 * 3000)) ++passed;
}

// `tokens` of them go round a ring of `n` kernel threads, whose total is then as often as all have been passed on.
void go_round(unsigned n, long rounds) {
    comity::core::ensure_started();
    std::vector<place> ring(n);
    std::vector<long> passed(n, 0);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; ++i)
        threads.emplace_back([&, i] {
            place &own = ring[i], &next = ring[(i + 1) % n];
            for (long round = 0; round < rounds; ++round) {
                if (i != 0 || round != 0) wait(own.park, round + i, passed[i]);
                ASSERT_EQ(own.told, round * static_cast<long>(n) + i) << "thread " << i;
                next.told = own.told + 1;
                next.park.wake();
            }
        });
    for (auto &t : threads) t.join();
    EXPECT_EQ(ring[0].told, rounds * static_cast<long>(n));
    EXPECT_TRUE(ring[0].park.wait_until(0)); // the last token, which nobody has taken
    EXPECT_FALSE(ring[0].park.wait_until(0));
}

} // namespace

TEST(parker, passes_every_token_on_between_two) { go_round(2, 20'000); }
TEST(parker, passes_every_token_on_round_many) { go_round(7, 3'000); }

// The owner's deadlines pass all the time; whoever wakes it does so at any moment of that.
TEST(parker, loses_no_token_to_a_deadline) {
    constexpr long tokens = 20'000;
    parker park;
    std::atomic<long> taken{0};
    std::thread owner([&] {
        for (long n = 0; n < tokens;)
            if (park.wait_until(comity::sys::now_ns() + n % 5 * 500)) taken.store(++n, std::memory_order_release);
    });
    for (long n = 0; n < tokens; ++n) {
        while (taken.load(std::memory_order_acquire) != n) std::this_thread::yield();
        for (long i = 0; i < n % 200; ++i) comity::sys::cpu_relax();
        park.wake();
    }
    owner.join();
    EXPECT_EQ(taken, tokens);
    EXPECT_FALSE(park.wait_until(0));
}
