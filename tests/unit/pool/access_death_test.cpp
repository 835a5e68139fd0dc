// An access that a pool's kind forbids ends the program by name, where internal assertions are on; here they are asked
// for, whatever the build.
#include "pool/access.hpp"
#include "pool/array_queue.hpp"
#include "pool/pool.hpp"
#include "pool/unit.hpp"

#include <gtest/gtest.h>

namespace pool = comity::pool;
using comity::unit;
using kind = comity::pool::access;

namespace {

// Calls back in the middle of each operation.
struct slow {
    using item_type = unit;
    void (*meanwhile)(void *) = nullptr;
    void *arg = nullptr;
    bool push(unit *) { return call(), true; }
    unit *pop() { return call(), nullptr; }
    bool remove(unit *) { return call(), false; }
    std::size_t size() const { return 0; }
    bool is_empty() const { return true; }
    void call() {
        if (auto f = meanwhile) {
            meanwhile = nullptr;
            f(arg);
        }
    }
};

// A slow pool of an access, within whose operation another begins.
template <kind A> struct tried {
    struct reentered : slow {
        reentered(void (*f)(void *), void *a) {
            meanwhile = f;
            arg = a;
        }
    };
    using checked_pool = pool::checked<reentered, A, true>;
    template <class First, class Second> static void at_the_same_time(First first, Second second) {
        struct both {
            checked_pool *p = nullptr;
            Second then;
        } b{nullptr, second};
        checked_pool p([](void *x) { static_cast<both *>(x)->then(*static_cast<both *>(x)->p); }, &b);
        b.p = &p;
        first(p);
    }
};

unit u;
const auto push_one = [](auto &p) { p.push(&u); };
const auto pop_one = [](auto &p) { p.pop(); };
const auto remove_one = [](auto &p) { p.remove(&u); };

class pool_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

} // namespace

TEST_F(pool_death, a_second_producer) {
    EXPECT_DEATH(tried<kind::spsc>::at_the_same_time(push_one, push_one),
                 "push: the pool is spsc, and another producer");
    EXPECT_DEATH(tried<kind::spmc>::at_the_same_time(push_one, push_one),
                 "push: the pool is spmc, and another producer");
    EXPECT_DEATH(tried<kind::owner>::at_the_same_time(push_one, push_one), "push: the pool is private");
}

TEST_F(pool_death, a_second_consumer) {
    EXPECT_DEATH(tried<kind::spsc>::at_the_same_time(pop_one, pop_one), "pop: the pool is spsc, and another consumer");
    EXPECT_DEATH(tried<kind::mpsc>::at_the_same_time(pop_one, remove_one),
                 "remove: the pool is mpsc, and another consumer");
    EXPECT_DEATH(tried<kind::owner>::at_the_same_time(pop_one, push_one), "push: the pool is private");
}

TEST_F(pool_death, what_the_kind_allows_goes_on) {
    tried<kind::spsc>::at_the_same_time(push_one, pop_one);
    tried<kind::mpsc>::at_the_same_time(push_one, push_one);
    tried<kind::spmc>::at_the_same_time(pop_one, pop_one);
    tried<kind::mpmc>::at_the_same_time(push_one, push_one);
    tried<kind::mpmc>::at_the_same_time(pop_one, remove_one);
}

TEST_F(pool_death, a_pool_chosen_at_run_time_checks_with_internal_assertions) {
    if (!pool::internal_checks) GTEST_SKIP() << "internal assertions are off";
    EXPECT_DEATH(
        {
            comity_pool *p = pool::make(kind::spsc, pool::order::fifo);
            if (p->producer.enter() == 0) pool::push(p, &u);
        },
        "push: the pool is spsc, and another is at it");
}
