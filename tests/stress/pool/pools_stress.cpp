// Every item of a pool comes out exactly once, by whomever it is taken, and in order where there is one.
#include "core/runtime.hpp"
#include "pool/array_queue.hpp"
#include "pool/mpsc.hpp"
#include "pool/priority.hpp"
#include "pool/random.hpp"
#include "pool/spsc.hpp"
#include "pool/stack.hpp"

#include "../../unit/sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace comity::pool;

struct item {
    item *next = nullptr;
    unsigned char priority = 0;
    unsigned char rank() const { return priority; }
    std::uint32_t producer = 0, number = 0;
    std::uint64_t payload = 0; // plain: what the producer wrote must be seen
    std::atomic<unsigned> taken{0};
};

template <class P, unsigned Producers, unsigned Consumers, bool Fifo, unsigned Priorities = 1> struct kind {
    using pool = P;
    static constexpr unsigned producers = Producers, consumers = Consumers, priorities = Priorities;
    static constexpr bool fifo = Fifo;
};

template <class Pool>
concept removable = requires(Pool &p) {
    p.remove(static_cast<item *>(nullptr));
};

constexpr std::size_t all = thread_sanitizer ? 20'000 : 120'000;

// Some kernel threads at once; ready when all are.
class crew {
public:
    template <class Function> void add(unsigned n, Function f) {
        for (unsigned i = 0; i < n; ++i)
            threads_.emplace_back([this, f, i] {
                while (!go_.load(std::memory_order_acquire)) std::this_thread::yield();
                f(i);
            });
    }
    void run() {
        go_.store(true, std::memory_order_release);
        for (std::thread &t : threads_) t.join();
    }

private:
    std::atomic<bool> go_{false};
    std::vector<std::thread> threads_;
};

template <class Kind> class pools : public testing::Test {
protected:
    void SetUp() override {
        comity::core::ensure_started(); // reads COMITY_CHAOS
        for (std::size_t i = 0; i < all; ++i) {
            item &it = items[i];
            it.producer = static_cast<std::uint32_t>(i % Kind::producers);
            it.number = static_cast<std::uint32_t>(i / Kind::producers);
            it.priority = static_cast<unsigned char>(i * 83 % Kind::priorities);
        }
    }
    void produce(unsigned p) {
        for (std::size_t i = p; i < all; i += Kind::producers) {
            items[i].payload = i + 1;
            if (!pool.push(&items[i])) std::abort();
            if (i % 4096 == p) std::this_thread::yield();
        }
    }
    void take(item *it) {
        EXPECT_EQ(it->taken.fetch_add(1, std::memory_order_relaxed), 0U);
        EXPECT_EQ(it->payload, static_cast<std::uint64_t>(it - items.get()) + 1);
        taken.fetch_add(1, std::memory_order_relaxed);
    }
    // One after the other of the same producer and priority, as one consumer sees them.
    class in_order {
    public:
        void see(const item *it) {
            std::int64_t &before = last_[it->producer][it->priority];
            if (Kind::fifo) {
                EXPECT_GT(static_cast<std::int64_t>(it->number), before);
            }
            before = it->number;
        }

    private:
        std::vector<std::vector<std::int64_t>> last_ =
            std::vector(Kind::producers, std::vector<std::int64_t>(Kind::priorities, -1));
    };
    void consume() {
        in_order order;
        while (taken.load(std::memory_order_relaxed) < all) {
            item *it = pool.pop();
            if (!it) {
                std::this_thread::yield();
                continue;
            }
            order.see(it);
            take(it);
        }
    }
    void expect_the_end() {
        EXPECT_EQ(taken.load(), all);
        EXPECT_EQ(pool.pop(), nullptr);
        EXPECT_TRUE(pool.is_empty());
        if constexpr (requires { pool.size(); }) {
            EXPECT_EQ(pool.size(), 0U);
        }
        for (std::size_t i = 0; i < all; ++i) ASSERT_EQ(items[i].taken.load(), 1U) << i;
    }

    typename Kind::pool pool;
    const std::unique_ptr<item[]> items{new item[all]};
    std::atomic<std::size_t> taken{0};
};

using kinds = testing::Types<
    kind<spsc_fifo<item>, 1, 1, true>, kind<mpsc_fifo<item>, 3, 1, true>, kind<mpsc_lifo<item>, 3, 1, false>,
    kind<spmc_fifo<item, true>, 1, 3, true>, kind<spmc_fifo<item>, 1, 3, true>, kind<mpmc_fifo<item, true>, 2, 2, true>,
    kind<mpmc_fifo<item>, 2, 2, true>, kind<stack<item, true>, 2, 2, false>, kind<stack<item>, 2, 2, false>,
    kind<shared_priority<spsc_fifo<item>>, 1, 1, true, 5>, kind<shared_priority<mpsc_fifo<item>>, 2, 1, true, 5>,
    kind<shared_priority<spmc_fifo<item, true>>, 1, 2, true, 5>,
    kind<shared_priority<mpmc_fifo<item, true>>, 2, 2, true, 5>, kind<shared_priority<mpmc_fifo<item>>, 2, 2, true, 5>,
    kind<locked<private_random<item>>, 2, 2, false>>;
TYPED_TEST_SUITE(pools, kinds);

} // namespace

TYPED_TEST(pools, each_item_is_taken_once_and_in_its_order) {
    crew c;
    c.add(TypeParam::producers, [this](unsigned p) { this->produce(p); });
    c.add(TypeParam::consumers, [this](unsigned) { this->consume(); });
    c.run();
    this->expect_the_end();
}

// Where many may consume a further one only removes; else the consumer does both. Few items, so that those which are
// looked for are often the same that are just popped.
TYPED_TEST(pools, each_item_is_removed_or_popped_but_not_both) {
    constexpr bool many = TypeParam::consumers > 1;
    crew c;
    const auto remove_some = [this](std::minstd_rand &random, unsigned n) {
        for (unsigned i = 0; i < n; ++i) {
            const std::size_t at = this->taken.load(std::memory_order_relaxed) + random() % 8;
            if constexpr (removable<typename TypeParam::pool>)
                if (at < all && this->pool.remove(&this->items[at])) this->take(&this->items[at]);
        }
    };
    c.add(TypeParam::producers, [this](unsigned p) { // close ahead of the consumers
        for (std::size_t i = p; i < all; i += TypeParam::producers) {
            while (i > this->taken.load(std::memory_order_relaxed) + 16) std::this_thread::yield();
            this->items[i].payload = i + 1;
            if (!this->pool.push(&this->items[i])) std::abort();
        }
    });
    c.add(TypeParam::consumers, [&](unsigned) {
        std::minstd_rand random(7);
        while (this->taken.load(std::memory_order_relaxed) < all) {
            if (item *it = this->pool.pop())
                this->take(it);
            else
                std::this_thread::yield();
            if (!many) remove_some(random, 1);
        }
    });
    if (many)
        c.add(1, [&](unsigned) {
            std::minstd_rand random(11);
            while (this->taken.load(std::memory_order_relaxed) < all) remove_some(random, 1);
        });
    c.run();
    this->expect_the_end();
}

namespace {

template <class Pool> class circulation : public testing::Test {};
using many = testing::Types<mpmc_fifo<item, true>, mpmc_fifo<item>, stack<item, true>, stack<item>,
                            shared_priority<mpmc_fifo<item, true>>>;
TYPED_TEST_SUITE(circulation, many);

} // namespace

// The same few items go in and out, so that addresses, cells and nodes come back all the time.
TYPED_TEST(circulation, nobody_has_an_item_that_another_has) {
    comity::core::ensure_started();
    constexpr unsigned threads = 4, count = 5;
    TypeParam pool;
    std::vector<item> items(count);
    for (unsigned i = 0; i < count; ++i) {
        items[i].priority = static_cast<unsigned char>(i % 2);
        ASSERT_TRUE(pool.push(&items[i]));
    }
    crew c;
    c.add(threads, [&](unsigned id) {
        std::minstd_rand random(id + 1);
        item *mine[2] = {};
        for (std::size_t i = 0; i < all; ++i) {
            item *&it = mine[random() % 2];
            if (it) {
                EXPECT_EQ(it->taken.exchange(0, std::memory_order_relaxed), id + 1);
                ++it->payload;
                if (!pool.push(it)) std::abort();
                it = nullptr;
            } else if (removable<TypeParam> && random() % 8 == 0) {
                item *wanted = &items[random() % count];
                if constexpr (removable<TypeParam>)
                    if (pool.remove(wanted)) it = wanted;
            } else {
                it = pool.pop();
            }
            if (it && it->taken.load(std::memory_order_relaxed) != id + 1) {
                EXPECT_EQ(it->taken.exchange(id + 1, std::memory_order_relaxed), 0U);
            }
        }
        for (item *it : mine)
            if (it) {
                it->taken.store(0, std::memory_order_relaxed);
                if (!pool.push(it)) std::abort();
            }
    });
    c.run();
    unsigned left = 0;
    while (pool.pop()) ++left;
    EXPECT_EQ(left, count);
    EXPECT_TRUE(pool.is_empty());
}

namespace {

template <class Pool> class emptiness : public testing::Test {};
using at_once = testing::Types<mpmc_fifo<item, true>, mpmc_fifo<item>, stack<item, true>,
                               stack<item>>; // of priorities, only what stays in is sure to be found
TYPED_TEST_SUITE(emptiness, at_once);

} // namespace

// A pop that finds nothing lets a scheduler sleep, so it must not say so while something is there.
TYPED_TEST(emptiness, is_not_seen_by_who_has_pushed_more_than_popped) {
    comity::core::ensure_started();
    TypeParam pool;
    constexpr unsigned threads = 3;
    std::vector<item> items(threads);
    crew c;
    c.add(threads, [&](unsigned id) {
        item *it = &items[id];
        for (std::size_t i = 0; i < all / 2; ++i) {
            it->priority = static_cast<unsigned char>(i % 3);
            if (!pool.push(it)) std::abort();
            // As many items as threads, and each thread takes at most as many as it has put in: one is there.
            it = pool.pop();
            ASSERT_NE(it, nullptr);
        }
    });
    c.run();
}
