// Waiting at an address: by threads of Comity's and by kernel threads without a hart.
#include "sync/address.hpp"

#include "comity/thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace comity;
using namespace std::chrono_literals;

// A semaphore that is nothing but a word.
struct word {
    std::atomic<std::uint32_t> tokens{0};
    bool take() {
        std::uint32_t n = tokens.load(std::memory_order_relaxed);
        while (n != 0)
            if (tokens.compare_exchange_weak(n, n - 1, std::memory_order_acquire, std::memory_order_relaxed))
                return true;
        return false;
    }
    void acquire() {
        auto some = [this]() noexcept { return tokens.load(std::memory_order_relaxed) != 0; };
        while (!take()) EXPECT_TRUE(sync::wait_at(this, some, sys::no_deadline));
    }
    void release() {
        tokens.fetch_add(1, std::memory_order_release);
        sync::wake_one_at(this);
    }
};

} // namespace

// Many more addresses than buckets, each with a waiter; every wake reaches the one that it is for.
TEST(address, waiters_at_many_addresses_are_each_woken_by_their_own) {
    constexpr int n = 600;
    std::vector<word> words(n);
    std::atomic<int> passed{0};
    struct one {
        word *w;
        std::atomic<int> *passed;
    };
    std::vector<one> ones;
    for (word &w : words) ones.push_back({&w, &passed});
    ASSERT_EQ(0, comity_threads_begin());
    for (one &o : ones)
        ASSERT_EQ(0, [&] {
            comity_thread_attr_t a{};
            a.detached = 1;
            return comity_thread_create(
                nullptr, &a,
                [](void *p) -> void * {
                    auto *self = static_cast<one *>(p);
                    self->w->acquire();
                    self->passed->fetch_add(1);
                    return nullptr;
                },
                &o);
        }());
    for (int i = 0; i < n; ++i) {
        const int before = passed;
        words[static_cast<std::size_t>(n - 1 - i)].release();
        while (passed == before) comity_thread_yield();
        EXPECT_EQ(before + 1, passed);
    }
    comity_threads_end();
}

// Tokens go round in a ring of waiters; a lost wake would stop it.
TEST(address, no_wake_is_lost_between_threads_with_and_without_harts) {
    constexpr int places = 4, turns = 5000;
    word ring[places];
    std::vector<std::thread> threads;
    for (int i = 0; i < places; ++i)
        threads.emplace_back([&ring, i] {
            const bool with_hart = i % 2 == 0;
            if (with_hart) {
                ASSERT_EQ(0, comity_threads_begin());
            }
            for (int k = 0; k < turns; ++k) {
                ring[i].acquire();
                ring[(i + 1) % places].release();
            }
            if (with_hart) comity_threads_end();
        });
    ring[0].release();
    for (auto &t : threads) t.join();
    EXPECT_EQ(1U, ring[0].tokens);
}

TEST(address, a_wait_ends_at_its_deadline) {
    word w;
    auto some = [&w]() noexcept { return w.tokens.load(std::memory_order_relaxed) != 0; };
    EXPECT_FALSE(sync::wait_at(&w, some, comity_deadline_in(5'000'000)));
    ASSERT_EQ(0, comity_threads_begin());
    EXPECT_FALSE(sync::wait_at(&w, some, comity_deadline_in(5'000'000)));
    EXPECT_EQ(sync::wait_end::late, sync::wait_at_or_cancel(&w, some, comity_deadline_in(5'000'000)));
    w.release();
    EXPECT_TRUE(sync::wait_at(&w, some, comity_deadline_in(5'000'000)));
    comity_threads_end();
}

TEST(address, all_are_woken_at_once) {
    std::atomic<bool> open{false};
    std::atomic<int> through{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            auto is_open = [&open]() noexcept { return open.load(std::memory_order_acquire); };
            EXPECT_TRUE(sync::wait_at(&open, is_open, sys::no_deadline));
            ++through;
        });
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(0, through);
    open.store(true, std::memory_order_release);
    sync::wake_all_at(&open);
    for (auto &t : threads) t.join();
    EXPECT_EQ(8, through);
}
