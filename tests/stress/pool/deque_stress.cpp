// Every item of a deque is taken exactly once, with thieves at the other end. It fails when a fence of the owner's or
// of a thief's is left out.
#include "core/runtime.hpp"
#include "pool/deque.hpp"
#include "sys/fence.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct item {
    std::atomic<unsigned> taken{0};
};

// `pops`: how many of each burst the owner takes itself, as far as thieves leave it any.
void take_all(unsigned burst, unsigned pops, std::size_t count) {
    comity::core::ensure_started(); // reads COMITY_CHAOS
    comity::pool::deque<item> d;
    const std::unique_ptr<item[]> items(new item[count]);
    std::atomic<bool> done{false};
    std::atomic<std::size_t> stolen{0};
    std::vector<std::thread> thieves;
    for (int i = 0; i < 2; ++i)
        thieves.emplace_back([&] {
            while (!done.load(std::memory_order_acquire))
                if (item *t = d.steal()) {
                    t->taken.fetch_add(1, std::memory_order_relaxed);
                    stolen.fetch_add(1, std::memory_order_relaxed);
                }
        });
    std::size_t popped = 0;
    for (std::size_t i = 0; i < count;) {
        for (unsigned n = 0; n < burst && i < count; ++n) ASSERT_TRUE(d.push(&items[i++]));
        for (unsigned n = 0; n < pops; ++n)
            if (item *t = d.pop()) {
                t->taken.fetch_add(1, std::memory_order_relaxed);
                ++popped;
            }
    }
    while (item *t = d.pop()) {
        t->taken.fetch_add(1, std::memory_order_relaxed);
        ++popped;
    }
    while (popped + stolen.load() < count && !d.empty()) std::this_thread::yield();
    done.store(true, std::memory_order_release);
    for (std::thread &t : thieves) t.join();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(items[i].taken.load(), 1U) << "item " << i << " of " << count;
}

} // namespace

TEST(deque, each_item_is_taken_once_when_the_last_is_fought_for) { take_all(1, 1, 100'000); }
TEST(deque, each_item_is_taken_once_when_it_grows) { take_all(700, 700, 300'000); }
TEST(deque, each_item_is_taken_once_when_much_of_it_is_public) { take_all(7, 5, 300'000); }

// What the owner has pushed and then forgets about: thieves make it public themselves, again and again.
TEST(deque, each_item_is_taken_once_when_the_owner_is_elsewhere) {
    comity::core::ensure_started();
    for (const bool uneven : {true, false}) {
        const bool before = comity::sys::fences_are_uneven.load();
        comity::sys::fences_are_uneven.store(uneven && before);
        for (unsigned round = 0; round < 200; ++round) {
            comity::pool::deque<item> d;
            std::vector<item> items(40);
            for (item &i : items) ASSERT_TRUE(d.push(&i));
            std::atomic<unsigned> stolen{0}, popped{0};
            std::vector<std::thread> thieves;
            for (int i = 0; i < 2; ++i)
                thieves.emplace_back([&] {
                    while (stolen.load() + popped.load() < 40)
                        if (item *t = d.steal()) {
                            t->taken.fetch_add(1, std::memory_order_relaxed);
                            ++stolen;
                        }
                });
            while (stolen.load() < round % 40) std::this_thread::yield();
            for (unsigned i = 0; i < round % 7; ++i)
                if (item *t = d.pop()) {
                    t->taken.fetch_add(1, std::memory_order_relaxed);
                    ++popped;
                }
            for (std::thread &t : thieves) t.join();
            for (const item &i : items) ASSERT_EQ(i.taken.load(), 1U);
            ASSERT_EQ(d.pop(), nullptr);
        }
        comity::sys::fences_are_uneven.store(before);
    }
}
