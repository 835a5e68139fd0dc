// Every item of a deque is taken exactly once, with thieves at the other end. It fails when the fence of pop or that of
// steal is left out (x86-64: pop's).
#include "core/runtime.hpp"
#include "pool/deque.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct item {
    std::atomic<unsigned> taken{0};
};

void take_all(unsigned burst, std::size_t count) {
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
        for (unsigned n = 0; n < burst; ++n)
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

TEST(deque, each_item_is_taken_once_when_the_last_is_fought_for) { take_all(1, 300'000); }
TEST(deque, each_item_is_taken_once_when_it_grows) { take_all(700, 300'000); }
