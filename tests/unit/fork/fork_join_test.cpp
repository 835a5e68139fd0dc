// The fork-join pair.
#include "comity/fork.hpp"
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

long fib(int n) {
    if (n < 2) return n;
    long a = 0, b = 0;
    comity::join([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
    return a + b;
}

TEST(fork_join, divides_recursively_inside_a_scope_and_outside) {
    EXPECT_EQ(fib(15), 610);
    const comity::threads scope;
    EXPECT_EQ(fib(22), 17711);
    long in_thread = 0;
    comity::thread([&] { in_thread = fib(18); }).join();
    EXPECT_EQ(in_thread, 2584);
}

TEST(fork_join, both_halves_run_at_the_same_time_where_there_are_two_harts) {
    if (comity::hart_count() < 2) GTEST_SKIP() << "one hart";
    const comity::threads scope;
    std::atomic<int> here{0};
    const auto meet = [&here] {
        ++here;
        while (here != 2) comity::this_thread::yield();
    };
    comity::join(meet, meet);
    EXPECT_EQ(here, 2);
}

TEST(fork_join, either_half_may_wait_for_the_other) {
    const comity::threads scope;
    for (int i = 0; i < 100; ++i) {
        comity::event first, second;
        comity::join(
            [&] {
                second.wait(); // only the other half sets it, so that must start although this one is stopped
                first.set();
            },
            [&] {
                second.set();
                first.wait();
            });
        EXPECT_TRUE(first.is_set());
    }
}

TEST(fork_join, a_half_that_yields_is_joined_wherever_it_runs) {
    const comity::threads scope;
    std::atomic<int> sum{0};
    for (int i = 0; i < 200; ++i)
        comity::join(
            [&] {
                comity::this_thread::yield();
                ++sum;
            },
            [&] {
                comity::this_thread::yield();
                sum += 2;
            });
    EXPECT_EQ(sum, 600);
}

TEST(fork_join, what_a_half_throws_is_thrown_again) {
    const comity::threads scope;
    EXPECT_THROW(comity::join([] { throw std::runtime_error("f"); }, [] {}), std::runtime_error);
    EXPECT_THROW(comity::join([] {}, [] { throw std::logic_error("g"); }), std::logic_error);
    try {
        comity::join([] { throw std::runtime_error("f"); }, [] { throw std::logic_error("g"); });
        FAIL();
    } catch (const std::runtime_error &e) {
        EXPECT_EQ(std::string(e.what()), "f");
    }
}

// Counts how many of its kind there are.
struct counted {
    inline static std::atomic<int> living{0};
    explicit counted(int v) : value(v) { ++living; }
    counted(counted &&other) noexcept : value(other.value) { ++living; }
    ~counted() { --living; }
    int value;
};

TEST(fork_join, returns_what_both_return_whoever_runs_them) {
    const comity::threads scope;
    for (int i = 0; i < 200; ++i) {
        const auto [a, b] = comity::join(
            [&] {
                if (i % 2) comity::this_thread::yield(); // then somebody may take the other half
                return counted(i);
            },
            [&] { return counted(-i); });
        EXPECT_EQ(a.value, i);
        EXPECT_EQ(b.value, -i);
        EXPECT_EQ(counted::living, 2);
    }
    for (const bool first_throws : {false, true})
        for (int i = 0; i < 200; ++i)
            EXPECT_THROW(comity::join(
                             [&] {
                                 comity::this_thread::yield();
                                 if (first_throws) throw std::runtime_error("f");
                                 return counted(i);
                             },
                             [&] {
                                 if (!first_throws) throw std::runtime_error("g");
                                 return counted(i);
                             }),
                         std::runtime_error);
    EXPECT_EQ(counted::living, 0);
    const auto [text, number] = comity::join([] { return std::string("outside"); }, [] { return 1L; });
    EXPECT_EQ(text.size(), 7U * static_cast<unsigned>(number));
}

TEST(fork_join, divides_in_threads_with_tls_of_their_own) {
    const comity::threads scope;
    long in_thread = 0;
    comity::thread({.own_tls = true}, [&] { in_thread = fib(18); }).join();
    EXPECT_EQ(in_thread, 2584);
}

TEST(fork_join, throws_outside_a_scope_too) {
    EXPECT_THROW(comity::join([] {}, [] { throw std::logic_error("g"); }), std::logic_error);
}

TEST(fork_join, runs_one_half_after_the_other_in_a_stackless_thread) {
    const comity::threads scope;
    int order = 0, f = 0, g = 0;
    comity::thread({.technique = comity::technique::stackless}, [&] {
        comity::join([&] { f = ++order; }, [&] { g = ++order; });
    }).join();
    EXPECT_EQ(f, 1);
    EXPECT_EQ(g, 2);
}

TEST(fork_join, the_c_interface_calls_both) {
    int f = 0, g = 0;
    const auto set = [](void *p) { *static_cast<int *>(p) = 1; };
    comity_fork_join(set, &f, set, &g);
    EXPECT_EQ(f + g, 2);
    f = g = 0;
    comity_fork_t fork; // in two steps, outside a scheduler of threads, too
    comity_fork_begin(&fork, set, &g);
    set(&f);
    if (comity_fork_end(&fork)) set(&g);
    EXPECT_EQ(f + g, 2);
    EXPECT_EQ(comity_sched_current(), nullptr) << "the fork ends what it opened";
}

TEST(fork_join, the_first_half_may_join_the_last_thread_where_nobody_opened_a_scheduler) {
    for (int i = 0; i < 100; ++i) {
        int ran = 0;
        comity::thread t([&] { ++ran; });
        int f = 0, g = 0;
        comity::join(
            [&] {
                comity::join([&] { t.join(); }, [&] { ++f; });
                comity::thread([&] { ++f; }).join();
            },
            [&] { ++g; });
        EXPECT_EQ(ran, 1);
        EXPECT_EQ(f, 2);
        EXPECT_EQ(g, 1);
        EXPECT_STREQ(comity_sched_current() ? "a scheduler" : "none", "none") << "the last fork ends it";
    }
}

TEST(fork_join, threads_and_forks_mix) {
    const comity::threads scope;
    std::atomic<int> ran{0};
    struct tree {
        static void grow(std::atomic<int> *n, int depth) {
            ++*n;
            if (depth == 0) return;
            comity::thread t([=] { grow(n, depth - 1); });
            comity::join([=] { grow(n, depth - 1); }, [=] { grow(n, depth - 1); });
            t.join();
        }
    };
    tree::grow(&ran, 6);
    EXPECT_EQ(ran, 1093); // (3^7 - 1) / 2
}

} // namespace
