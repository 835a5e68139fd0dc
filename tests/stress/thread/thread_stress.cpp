// Threads of both techniques under load: random trees, yields, joins in any order, detached ones, and other kernel
// threads doing the same.
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

namespace {

// Printed when a test fails: the seed of the chaos scheduler, to run it again.
class seed_printer : public testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult &r) override {
        if (r.failed())
            if (const char *seed = std::getenv("COMITY_CHAOS")) std::cerr << "COMITY_CHAOS=" << seed << '\n';
    }
};
[[maybe_unused]] const bool listens = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new seed_printer);
    return true;
}();

struct random {
    std::uint64_t state;
    std::uint32_t operator()(std::uint32_t n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state >> 33) % n;
    }
};

// A tree of threads whose shape, techniques and yields follow from the seed. Returns how many nodes it had.
std::uint64_t grow(std::uint64_t seed, int depth) {
    random r{seed};
    std::uint64_t nodes = 1;
    if (depth == 0) return nodes;
    const std::uint32_t children = r(4);
    std::vector<std::uint64_t> counts(children);
    std::vector<comity::thread> threads;
    for (std::uint32_t i = 0; i < children; ++i) {
        const comity::thread::attributes attr{.technique = r(2) ? comity::technique::roc_l : comity::technique::full};
        threads.emplace_back(attr, [&count = counts[i], below = r.state + i, depth, yields = r(3)] {
            for (std::uint32_t n = 0; n < yields; ++n) comity::this_thread::yield();
            count = grow(below, depth - 1);
        });
        if (r(4) == 0) comity::this_thread::yield();
    }
    if (r(2))
        for (comity::thread &t : threads) t.join();
    else
        while (!threads.empty()) threads.pop_back();
    for (const std::uint64_t n : counts) nodes += n;
    return nodes;
}

std::uint64_t count_serially(std::uint64_t seed, int depth) {
    random r{seed};
    std::uint64_t nodes = 1;
    if (depth == 0) return nodes;
    const std::uint32_t children = r(4);
    for (std::uint32_t i = 0; i < children; ++i) {
        r(2);
        const std::uint64_t below = r.state + i;
        // the order in which the closure's members are evaluated: below before yields
        r(3);
        nodes += count_serially(below, depth - 1);
        r(4);
    }
    return nodes;
}

} // namespace

TEST(threads, trees_of_threads_have_every_node) {
    const comity::threads scope;
    for (std::uint64_t seed = 1; seed <= 60; ++seed)
        ASSERT_EQ(grow(seed, 8), count_serially(seed, 8)) << "tree " << seed;
}

TEST(threads, trees_without_a_scope_open_and_end_their_scheduler) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        ASSERT_EQ(grow(seed, 5), count_serially(seed, 5)) << "tree " << seed;
}

TEST(threads, kernel_threads_with_trees_of_their_own_share_the_harts) {
    std::atomic<int> right{0};
    std::vector<std::thread> kernel_threads;
    for (std::uint64_t i = 0; i < 5; ++i)
        kernel_threads.emplace_back([i, &right] {
            const comity::threads scope;
            for (std::uint64_t seed = 100 * i; seed < 100 * i + 20; ++seed)
                right += grow(seed, 6) == count_serially(seed, 6);
        });
    for (std::thread &t : kernel_threads) t.join();
    EXPECT_EQ(right, 100);
}

TEST(threads, scopes_come_and_go) {
    std::atomic<int> ended{0};
    for (int i = 0; i < 3000; ++i) {
        const comity::threads scope;
        for (int n = 0; n < 4; ++n)
            comity::thread({.technique = n % 2 ? comity::technique::full : comity::technique::roc_l, .detached = true},
                           [&ended, n] {
                               if (n == 2) comity::this_thread::yield();
                               ended.fetch_add(1, std::memory_order_relaxed);
                           });
    }
    EXPECT_EQ(ended, 12'000);
}

TEST(threads, scopes_nest_inside_threads) {
    const comity::threads outer;
    std::atomic<int> ended{0};
    {
        std::vector<comity::thread> all;
        for (int i = 0; i < 200; ++i)
            all.emplace_back([&ended] {
                const comity::threads inner;
                for (int n = 0; n < 3; ++n)
                    comity::thread({.detached = true}, [&ended] {
                        comity::this_thread::yield();
                        ended.fetch_add(1, std::memory_order_relaxed);
                    });
            });
    }
    EXPECT_EQ(ended, 600);
}
