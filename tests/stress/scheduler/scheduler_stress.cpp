// Schedulers that become others, and gain and lose harts, while threads of all techniques are created, wait, yield and
// end under them. Each runs exactly once: a lost unit hangs the test, one that runs twice is counted.
#include "kinds.hpp"

#include "comity/sync.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace {

struct die {
    explicit die(std::uint64_t seed) : state(seed * 0x9e3779b97f4a7c15) {}
    std::uint64_t state;
    std::uint32_t operator()(std::uint32_t n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state >> 33) % n;
    }
};

// What the threads of a run share.
struct run {
    explicit run(std::size_t n) : ran(n) {}
    std::vector<std::atomic<int>> ran; // by thread
    std::atomic<int> next{0};
    comity::mutex lock;
    int in_lock = 0; // under lock
};

void live(run &r, std::uint64_t seed, int depth) {
    die dice{seed};
    const auto me = static_cast<std::size_t>(r.next++);
    if (me >= r.ran.size()) return; // enough
    ++r.ran[me];
    std::vector<comity::thread> children;
    for (std::uint32_t i = depth > 0 ? 1 + dice(4) : 0; i > 0; --i) {
        const comity::thread::attributes a{.technique = kinds::techniques[dice(12)],
                                           .priority = static_cast<unsigned char>(dice(4))};
        if (a.technique == comity::technique::stackless)
            children.emplace_back(a, [&r] {
                const auto leaf = static_cast<std::size_t>(r.next++);
                if (leaf < r.ran.size()) ++r.ran[leaf];
            });
        else
            children.emplace_back(a, live, std::ref(r), dice.state + i, depth - 1);
        if (dice(3) == 0) comity::this_thread::yield();
        if (dice(4) == 0) comity::this_scheduler::charge(dice(400'000));
    }
    if (dice(3) == 0) {
        r.lock.lock();
        ++r.in_lock;
        comity::this_thread::yield();
        --r.in_lock;
        EXPECT_EQ(r.in_lock, 0);
        r.lock.unlock();
    }
    for (comity::thread &t : children) t.join();
}

void expect_once(const run &r) {
    const auto n = static_cast<std::size_t>(r.next.load());
    EXPECT_GT(n, 50U);
    for (std::size_t i = 0; i < n && i < r.ran.size(); ++i) EXPECT_EQ(r.ran[i], 1) << i;
}

// Threads of the scheduler that change it all the time.
std::vector<comity::thread> change(int how_many, const std::atomic<bool> &stop, std::uint64_t seed) {
    std::vector<comity::thread> all;
    for (int i = 0; i < how_many; ++i)
        all.emplace_back(comity::thread::attributes{.priority = 3},
                         [&stop, dice = die{seed + static_cast<unsigned>(i)}]() mutable {
                             while (!stop) {
                                 if (dice(2))
                                     kinds::replace(static_cast<int>(dice(kinds::count)));
                                 else
                                     comity::this_scheduler::set_harts(dice(5));
                                 for (std::uint32_t n = dice(8); n > 0; --n) comity::this_thread::yield();
                             }
                         });
    return all;
}

} // namespace

class schedulers : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(all, schedulers, testing::Range(0, kinds::count),
                         [](const auto &i) { return kinds::names.at(static_cast<unsigned>(i.param)); });

TEST_P(schedulers, run_trees_of_threads_once_each) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        run r(20'000);
        {
            const kinds::scope s(GetParam());
            comity::thread root(live, std::ref(r), seed, 8);
            root.join();
        }
        expect_once(r);
    }
    EXPECT_EQ(kinds::users_order::living(), 0);
}

TEST_P(schedulers, that_change_lose_no_unit_and_run_none_twice) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        run r(20'000);
        std::atomic<bool> stop{false};
        {
            const kinds::scope s(GetParam());
            std::vector<comity::thread> changing = change(2, stop, seed);
            std::vector<comity::thread> roots;
            for (std::uint64_t i = 0; i < 4; ++i) roots.emplace_back(live, std::ref(r), 100 * seed + i, 7);
            for (comity::thread &t : roots) t.join();
            stop = true;
            for (comity::thread &t : changing) t.join();
        }
        expect_once(r);
    }
    EXPECT_EQ(kinds::users_order::living(), 0);
}

// Work comes from a thread of the program while the scheduler's harts come, go and find another order.
TEST_P(schedulers, that_change_lose_no_wake_up_from_outside) {
    constexpr int rounds = 2000;
    const kinds::scope s(GetParam());
    comity::event go[rounds];
    comity::event back[rounds];
    std::thread outside([&] {
        for (int i = 0; i < rounds; ++i) {
            go[i].set();
            back[i].wait();
        }
    });
    die dice(static_cast<std::uint64_t>(GetParam()) + 1);
    comity::thread t([&] {
        for (int i = 0; i < rounds; ++i) {
            go[i].wait();
            if (i % 7 == 0) kinds::replace(static_cast<int>(dice(kinds::count)));
            if (i % 5 == 0) comity::this_scheduler::set_harts(dice(4));
            back[i].set();
        }
    });
    t.join();
    outside.join();
}

// A scheduler with few harts below one with many, and the other way round.
TEST_P(schedulers, below_each_other_keep_their_limits_and_end) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        run r(20'000);
        {
            const kinds::scope outer(GetParam(), static_cast<unsigned>(seed % 3));
            std::vector<comity::thread> threads;
            for (int i = 0; i < 4; ++i)
                threads.emplace_back([&r, seed, i] {
                    std::atomic<bool> stop{false};
                    const comity::scheduled_threads inner({.kind = static_cast<comity::scheduler_kind>(i),
                                                           .most_harts = static_cast<unsigned>((seed + 1) % 3)});
                    std::vector<comity::thread> changing;
                    changing.emplace_back([&stop, dice = die{seed}]() mutable {
                        while (!stop) {
                            comity::this_scheduler::set_harts(dice(3));
                            comity::this_scheduler::replace(static_cast<comity::scheduler_kind>(dice(5)));
                            comity::this_thread::yield();
                        }
                    });
                    comity::thread root(live, std::ref(r), seed + static_cast<unsigned>(i), 5);
                    root.join();
                    stop = true;
                });
            for (comity::thread &t : threads) t.join();
        }
        expect_once(r);
    }
}
