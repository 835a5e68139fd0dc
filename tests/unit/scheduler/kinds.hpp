// Every kind of scheduler, for tests that hold for all of them.
#pragma once

#include "comity/scheduler.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

namespace kinds {

// A user's order that stands being called by many: last in, first out.
struct users_order {
    std::mutex lock;
    std::vector<comity_unit_t *> units;

    static std::atomic<int> &living() {
        static std::atomic<int> n{0};
        return n;
    }
};

inline constexpr comity_scheduler_functions_t users_functions{
    .init =
        [](void *, void **state) {
            *state = new users_order;
            ++users_order::living();
            return 0;
        },
    .fini =
        [](void *state) {
            auto *self = static_cast<users_order *>(state);
            EXPECT_TRUE(self->units.empty());
            --users_order::living();
            delete self;
        },
    .push =
        [](void *state, comity_unit_t *u, comity_occasion_t why) {
            auto *self = static_cast<users_order *>(state);
            const std::scoped_lock hold(self->lock);
            self->units.insert(why == COMITY_OCCASION_YIELDED ? self->units.begin() : self->units.end(), u);
            return 0;
        },
    .pick = [](void *state) -> comity_unit_t * {
        auto *self = static_cast<users_order *>(state);
        const std::scoped_lock hold(self->lock);
        if (self->units.empty()) return nullptr;
        comity_unit_t *u = self->units.back();
        self->units.pop_back();
        return u;
    },
    .has_work = [](void *state) -> int {
        auto *self = static_cast<users_order *>(state);
        const std::scoped_lock hold(self->lock);
        return !self->units.empty();
    },
    .concurrent = 1,
};

constexpr int count = COMITY_SCHEDULER_DF_DEQUES + 1;
constexpr std::array<const char *, count> names{
    "work_stealing", "fifo", "lifo", "priority", "random", "pools", "user", "space_efficient", "df_deques"};

// The attributes of a kind. Pools live as long as the program: two of them.
inline comity_scheduler_attr_t attributes(int kind) {
    static const std::array<comity_pool_t *, 2> pools = [] {
        std::array<comity_pool_t *, 2> made{};
        EXPECT_EQ(comity_pool_create(&made[0], COMITY_POOL_MPMC, COMITY_POOL_LIFO), 0);
        EXPECT_EQ(comity_pool_create(&made[1], COMITY_POOL_MPMC, COMITY_POOL_FIFO), 0);
        return made;
    }();
    comity_scheduler_attr_t a{};
    a.kind = static_cast<comity_scheduler_kind_t>(kind);
    a.pools = pools.data();
    a.pool_count = pools.size();
    a.functions = &users_functions;
    return a;
}

// Threads of a scheduler of this kind, as comity::scheduler.
class scope {
public:
    explicit scope(int kind, unsigned most_harts = 0) {
        comity_scheduler_attr_t a = attributes(kind);
        a.most_harts = most_harts;
        EXPECT_EQ(comity_threads_begin_with(&a), 0);
    }
    ~scope() { comity_threads_end(); }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
};

inline void replace(int kind) {
    const comity_scheduler_attr_t a = attributes(kind);
    EXPECT_EQ(comity_scheduler_replace(&a), 0);
}

inline comity_scheduler_info_t info() {
    comity_scheduler_info_t i{};
    EXPECT_EQ(comity_scheduler_get_info(&i), 0);
    return i;
}

// The caller computes meanwhile. Half a minute is for ever, on the busiest machine.
template <class Condition> bool comes_true(Condition &&c) {
    using clock_type = std::chrono::steady_clock;
    for (const auto until = clock_type::now() + std::chrono::seconds(30); clock_type::now() < until;)
        if (c()) return true;
    return false;
}

constexpr comity::technique techniques[] = {
    comity::technique::full,   comity::technique::full_l,   comity::technique::roc,   comity::technique::roc_l,
    comity::technique::ss,     comity::technique::ss_l,     comity::technique::sc,    comity::technique::stackless,
    comity::technique::c_full, comity::technique::c_full_e, comity::technique::c_roc, comity::technique::c_roc_e};

} // namespace kinds
