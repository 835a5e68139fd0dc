// What the pools do when memory is gone, and that they use what they have again.
#include "pool/array_queue.hpp"
#include "pool/deque.hpp"
#include "pool/mpsc.hpp"
#include "pool/priority.hpp"
#include "pool/random.hpp"
#include "pool/spsc.hpp"
#include "pool/stack.hpp"
#include "pool/unit.hpp"
#include "sys/own_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

using comity::unit;
using namespace comity::pool;

namespace {

bool memory_is_gone = false;
std::size_t allocations = 0;
[[maybe_unused]] const bool asked = (comity::sys::ask_before_own_memory([]() noexcept {
                                         ++allocations;
                                         return !memory_is_gone;
                                     }),
                                     true);

template <class Pool> class pool_memory : public testing::Test {};
using allocating = testing::Types<spsc_fifo<unit>, spmc_fifo<unit, true>, mpmc_fifo<unit>, stack<unit, true>,
                                  private_random<unit>, shared_priority<spsc_fifo<unit>>,
                                  shared_priority<mpmc_fifo<unit, true>>, shared_priority<mpsc_fifo<unit>>>;
TYPED_TEST_SUITE(pool_memory, allocating);

} // namespace

TYPED_TEST(pool_memory, a_push_that_gets_none_fails_and_leaves_the_pool_as_it_was) {
    TypeParam pool;
    std::vector<unit> units(3000);
    memory_is_gone = true;
    EXPECT_FALSE(pool.push(&units[0]));
    EXPECT_EQ(pool.pop(), nullptr);
    memory_is_gone = false;
    std::size_t pushed = 0;
    for (; pushed < 700; ++pushed) ASSERT_TRUE(pool.push(&units[pushed]));
    memory_is_gone = true;
    while (pushed < units.size() && pool.push(&units[pushed])) ++pushed;
    const bool failed = pushed < units.size();
    EXPECT_EQ(pool.size(), pushed);
    if (failed) {
        EXPECT_FALSE(pool.push(&units[pushed])); // as often as one tries
    }
    memory_is_gone = false;
    while (pushed < units.size()) ASSERT_TRUE(pool.push(&units[pushed++]));
    std::size_t popped = 0;
    while (pool.pop()) ++popped;
    EXPECT_EQ(popped, units.size());
    EXPECT_TRUE(pool.is_empty());
    // Only a pool whose queue takes the units' own link needs none.
    EXPECT_TRUE(failed || (std::is_same_v<TypeParam, shared_priority<mpsc_fifo<unit>>>));
}

TYPED_TEST(pool_memory, what_was_used_is_used_again) {
    TypeParam pool;
    std::vector<unit> units(2500);
    const auto round = [&] {
        for (unit &u : units) ASSERT_TRUE(pool.push(&u));
        for (std::size_t i = 0; i < units.size(); ++i) ASSERT_NE(pool.pop(), nullptr);
    };
    for (int i = 0; i < 3; ++i) round();
    const std::size_t before = allocations;
    for (int i = 0; i < 100; ++i)
        for (unit &u : units) { // few at a time, far along
            ASSERT_TRUE(pool.push(&u));
            ASSERT_EQ(pool.pop(), &u);
        }
    EXPECT_EQ(allocations, before);
}

TEST(arena, keeps_a_node_where_it_is_and_gives_it_out_again) {
    struct node : comity::sys::in_own_memory {
        std::atomic<std::uint32_t> link{0};
        int value = 0;
    };
    arena<node, 2, 10> a; // blocks of 4, 8, 16, …
    std::vector<node *> at(1000);
    std::vector<std::uint32_t> ids;
    while (const auto i = a.allocate()) {
        ASSERT_EQ(i, ids.size() + 1);
        ids.push_back(i);
        at[i] = &a[i];
        at[i]->value = static_cast<int>(i);
        if (ids.size() == 900) break;
    }
    for (const auto i : ids) {
        ASSERT_EQ(&a[i], at[i]);
        ASSERT_EQ(a[i].value, static_cast<int>(i));
    }
    a.release(7);
    a.release(900);
    EXPECT_EQ(a.allocate(), 900U);
    EXPECT_EQ(a.allocate(), 7U);
    EXPECT_EQ(a.allocate(), 901U);
    EXPECT_EQ(a.used(), 901U);
}

TEST(arena, ends_where_its_numbers_end) {
    struct node : comity::sys::in_own_memory {
        std::atomic<std::uint32_t> link{0};
    };
    arena<node, 1, 6> a;
    std::uint32_t n = 0;
    while (a.allocate()) ++n;
    EXPECT_EQ(n, 62U); // 2 + 4 + … + 32
    a.release(5);
    EXPECT_EQ(a.allocate(), 5U);
    EXPECT_EQ(a.allocate(), 0U);
}

TEST(deque, a_push_that_gets_no_memory_fails) {
    deque<int> d;
    int item = 0;
    memory_is_gone = true;
    EXPECT_FALSE(d.push(&item));
    memory_is_gone = false;
    std::size_t n = 0;
    EXPECT_TRUE(d.push(&item));
    memory_is_gone = true;
    for (n = 1; d.push(&item); ++n) ASSERT_LT(n, 1000U);
    memory_is_gone = false;
    std::size_t popped = 0;
    while (d.pop()) ++popped;
    EXPECT_EQ(popped, n);
}
