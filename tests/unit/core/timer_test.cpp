// The heap of deadlines, and the thread that serves them.
#include "core/timer.hpp"

#include "sys/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace comity;

namespace {

// Checks the order, the links and the ranks; returns how many there are.
std::size_t checked_size(const core::timer *t, const core::timer *up = nullptr) {
    if (!t) return 0;
    EXPECT_EQ(t->up, up);
    EXPECT_TRUE(!up || up->at <= t->at);
    const unsigned left = t->left ? t->left->rank : 0, right = t->right ? t->right->rank : 0;
    EXPECT_GE(left, right);
    EXPECT_EQ(t->rank, right + 1);
    return 1 + checked_size(t->left, t) + checked_size(t->right, t);
}

struct counted : core::timer {
    explicit counted(std::int64_t deadline) {
        at = deadline;
        expired = [](core::timer *t) noexcept -> core::context * {
            ++static_cast<counted *>(t)->calls;
            return nullptr;
        };
    }
    void await() const {
        while (calls == 0) std::this_thread::yield();
    }
    std::atomic<int> calls{0};
};

} // namespace

TEST(timer_heap, gives_the_earliest_first_whatever_is_removed) {
    std::mt19937 random(1);
    std::vector<core::timer> all(500);
    core::timer_heap heap;
    std::vector<core::timer *> inside;
    for (core::timer &t : all) {
        t.at = random() % 100 == 0 ? (random() % 2 ? INT64_MAX : INT64_MIN) : static_cast<std::int64_t>(random() % 300);
        heap.add(&t);
        inside.push_back(&t);
        if (random() % 3 == 0) { // any of them
            std::swap(inside[random() % inside.size()], inside.back());
            heap.remove(inside.back());
            inside.pop_back();
        }
        ASSERT_EQ(checked_size(heap.earliest()), inside.size());
    }
    std::sort(inside.begin(), inside.end(), [](const auto *a, const auto *b) { return a->at < b->at; });
    for (const core::timer *t : inside) {
        ASSERT_EQ(heap.earliest()->at, t->at);
        heap.remove(heap.earliest());
    }
    EXPECT_EQ(heap.earliest(), nullptr);
}

TEST(timer_heap, its_right_spine_stays_short) {
    std::vector<core::timer> all(4096);
    core::timer_heap heap;
    std::int64_t at = 0;
    for (core::timer &t : all) {
        t.at = ++at; // the order in which a list without balance would grow
        heap.add(&t);
    }
    EXPECT_LE(heap.earliest()->rank, 12U);
}

TEST(timer, expires_once_and_not_before_its_time) {
    counted t(sys::now_ns() + 5'000'000);
    ASSERT_TRUE(core::arm(t));
    t.await();
    EXPECT_GE(sys::now_ns(), t.at);
    EXPECT_FALSE(core::cancel(t));
    EXPECT_EQ(t.calls, 1);
}

TEST(timer, an_earlier_one_is_not_kept_by_a_later_one) {
    counted never(INT64_MAX), late(sys::now_ns() + 3'600'000'000'000), soon(sys::now_ns() + 1'000'000), past(INT64_MIN);
    for (counted *t : {&never, &late, &soon, &past}) ASSERT_TRUE(core::arm(*t));
    past.await();
    soon.await();
    EXPECT_TRUE(core::cancel(late));
    EXPECT_TRUE(core::cancel(never));
    EXPECT_EQ(late.calls + never.calls, 0);
}

TEST(timer, is_cancelled_or_has_expired_and_never_both) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (unsigned n = 0; n < 4; ++n)
        threads.emplace_back([n, &wrong] {
            std::mt19937 random(n);
            for (int i = 0; i < 3000; ++i) {
                auto t = std::make_unique<counted>(sys::now_ns() + static_cast<int>(random() % 20'000));
                if (!core::arm(*t)) std::abort();
                for (unsigned spin = random() % 200; spin > 0; --spin) sys::cpu_relax();
                const bool cancelled = core::cancel(*t);
                wrong += t->calls != (cancelled ? 0 : 1);
            }
        });
    for (std::thread &t : threads) t.join();
    EXPECT_EQ(wrong, 0);
}
