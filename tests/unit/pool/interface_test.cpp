// Units, errors, whose a side is, and pools of the user's own.
#include "comity/pool.h"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <thread>
#include <vector>

namespace {

comity_pool_t *make(comity_pool_access_t access, comity_pool_order_t order) {
    comity_pool_t *p = nullptr;
    EXPECT_EQ(comity_pool_create(&p, access, order), 0);
    return p;
}

struct counted {
    comity_unit_storage_t storage;
    int runs = 0;
    comity_unit_t *unit = comity_unit_init(
        &storage, [](void *self) { ++static_cast<counted *>(self)->runs; }, this);
};

} // namespace

TEST(unit, runs_its_function_each_time) {
    counted c;
    EXPECT_EQ(comity_unit_run(c.unit), 0);
    EXPECT_EQ(comity_unit_run(c.unit), 0);
    EXPECT_EQ(c.runs, 2);
    EXPECT_EQ(comity_unit_priority(c.unit), 0);
}

TEST(unit, may_go_into_a_pool_again_from_within) {
    struct again {
        comity_pool_t *pool;
        comity_unit_storage_t storage;
        comity_unit_t *unit;
        int left;
    } a{make(COMITY_POOL_MPMC, COMITY_POOL_FIFO), {}, nullptr, 3};
    a.unit = comity_unit_init(
        &a.storage,
        [](void *p) {
            auto *self = static_cast<again *>(p);
            if (--self->left > 0) comity_pool_push(self->pool, self->unit);
        },
        &a);
    comity_pool_push(a.pool, a.unit);
    for (comity_unit_t *u = nullptr; comity_pool_pop(a.pool, &u) == 0;) comity_unit_run(u);
    EXPECT_EQ(a.left, 0);
    EXPECT_EQ(comity_pool_free(a.pool), 0);
}

TEST(unit, that_is_a_thread_is_not_run_by_hand) {
    EXPECT_EQ(comity_unit_run(nullptr), EINVAL);
    comity::thread t([] {
        // A thread's descriptor is a unit.
        EXPECT_EQ(comity_unit_run(reinterpret_cast<comity_unit_t *>(comity_thread_self())), EINVAL);
    });
    t.join();
}

TEST(pool_errors, what_does_not_exist_is_refused) {
    comity_pool_t *p = nullptr;
    EXPECT_EQ(comity_pool_create(nullptr, COMITY_POOL_MPMC, COMITY_POOL_FIFO), EINVAL);
    EXPECT_EQ(comity_pool_create(&p, static_cast<comity_pool_access_t>(5), COMITY_POOL_FIFO), EINVAL);
    EXPECT_EQ(comity_pool_create(&p, COMITY_POOL_MPMC, COMITY_POOL_USER), EINVAL);
    EXPECT_EQ(comity_pool_create(&p, COMITY_POOL_MPMC, static_cast<comity_pool_order_t>(9)), EINVAL);
    EXPECT_EQ(p, nullptr);
    p = make(COMITY_POOL_MPMC, COMITY_POOL_FIFO);
    EXPECT_EQ(comity_pool_push(p, nullptr), EINVAL);
    counted c;
    comity_unit_t *list[] = {c.unit, nullptr};
    std::size_t n = 9;
    EXPECT_EQ(comity_pool_push_many(p, list, 2, &n), EINVAL);
    EXPECT_EQ(n, 0U);
    EXPECT_TRUE(comity_pool_is_empty(p));
    EXPECT_EQ(comity_pool_set_seed(p, 3), EINVAL);
    EXPECT_EQ(comity_pool_access(p), COMITY_POOL_MPMC);
    EXPECT_EQ(comity_pool_order(p), COMITY_POOL_FIFO);
    EXPECT_EQ(comity_pool_free(p), 0);
    EXPECT_EQ(comity_pool_free(nullptr), 0);
}

TEST(pool_errors, a_pool_with_units_is_not_freed) {
    for (int order = COMITY_POOL_FIFO; order <= COMITY_POOL_RANDOM; ++order)
        for (int access = COMITY_POOL_PRIVATE; access <= COMITY_POOL_MPMC; ++access) {
            comity_pool_t *p = make(static_cast<comity_pool_access_t>(access), static_cast<comity_pool_order_t>(order));
            counted c;
            comity_pool_push(p, c.unit);
            EXPECT_EQ(comity_pool_free(p), EBUSY);
            comity_unit_t *u = nullptr;
            EXPECT_EQ(comity_pool_pop(p, &u), 0);
            EXPECT_EQ(comity_pool_free(p), 0);
        }
}

// ---- An access that the kind forbids

namespace {

// A pool of the user's whose pop and push call back, so that a second access comes while the first is under way.
struct reentrant {
    comity_pool_t *pool = nullptr;
    counted c;
    int push_in_push = -1, pop_in_push = -1, push_in_pop = -1, pop_in_pop = -1, remove_in_pop = -1;

    explicit reentrant(comity_pool_access_t access) {
        comity_pool_functions_t f{};
        f.push = [](void *s, comity_unit_t *) {
            auto *r = static_cast<reentrant *>(s);
            if (r->push_in_push >= 0) return 0; // the inner one
            r->push_in_push = 0;
            comity_unit_t *u = nullptr;
            r->push_in_push = comity_pool_push(r->pool, r->c.unit);
            r->pop_in_push = comity_pool_pop(r->pool, &u);
            return 0;
        };
        f.pop = [](void *s) -> comity_unit_t * {
            auto *r = static_cast<reentrant *>(s);
            if (r->push_in_push < 0 || r->pop_in_pop >= 0 || r->pop_in_push < 0) return nullptr;
            r->pop_in_pop = 0;
            comity_unit_t *u = nullptr;
            r->pop_in_pop = comity_pool_pop(r->pool, &u);
            r->push_in_pop = comity_pool_push(r->pool, r->c.unit);
            r->remove_in_pop = comity_pool_remove(r->pool, r->c.unit);
            return nullptr;
        };
        f.size = [](void *) -> std::size_t { return 0; };
        f.remove = [](void *, comity_unit_t *) { return ENOENT; };
        EXPECT_EQ(comity_pool_create_user(&pool, access, &f, this), 0);
        comity_unit_t *u = nullptr;
        comity_pool_push(pool, c.unit);
        comity_pool_pop(pool, &u);
        EXPECT_EQ(comity_pool_free(pool), 0);
    }
};

} // namespace

TEST(pool_access, a_second_one_at_the_side_of_one_is_refused) {
    for (int a = COMITY_POOL_PRIVATE; a <= COMITY_POOL_MPMC; ++a) {
        const bool many_push = a == COMITY_POOL_MPSC || a == COMITY_POOL_MPMC,
                   many_pop = a == COMITY_POOL_SPMC || a == COMITY_POOL_MPMC, alone = a == COMITY_POOL_PRIVATE;
        const reentrant r(static_cast<comity_pool_access_t>(a));
        EXPECT_EQ(r.push_in_push, many_push ? 0 : EBUSY) << a;
        EXPECT_EQ(r.pop_in_pop, many_pop ? EAGAIN : EBUSY) << a;
        EXPECT_EQ(r.remove_in_pop, many_pop ? ENOENT : EBUSY) << a;
        EXPECT_EQ(r.push_in_pop, alone ? EBUSY : 0) << a;
        EXPECT_EQ(r.pop_in_push, alone ? EBUSY : EAGAIN) << a;
    }
}

TEST(pool_access, turns_may_be_taken_by_different_kernel_threads) {
    comity_pool_t *p = make(COMITY_POOL_PRIVATE, COMITY_POOL_FIFO);
    counted c;
    std::thread([&] { EXPECT_EQ(comity_pool_push(p, c.unit), 0); }).join();
    comity_unit_t *u = nullptr;
    std::thread([&] { EXPECT_EQ(comity_pool_pop(p, &u), 0); }).join();
    EXPECT_EQ(u, c.unit);
    EXPECT_EQ(comity_pool_free(p), 0);
}

TEST(pool_access, a_side_given_to_a_context_refuses_all_others) {
    const comity::threads scope;
    comity_pool_t *p = make(COMITY_POOL_SPSC, COMITY_POOL_FIFO);
    counted a, b;
    comity_unit_t *u = nullptr;
    EXPECT_EQ(comity_pool_own(nullptr, COMITY_POOL_PRODUCER, COMITY_POOL_OWNER_CONTEXT), EINVAL);
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_PRODUCER, COMITY_POOL_OWNER_CONTEXT), 0);
    EXPECT_EQ(comity_pool_push(p, a.unit), 0);
    // One with a context of its own: a joiner may call others in its own.
    comity::thread({.technique = comity::technique::full}, [&] {
        EXPECT_EQ(comity_pool_push(p, b.unit), EPERM);
        EXPECT_EQ(comity_pool_push_many(p, &b.unit, 1, nullptr), EPERM);
        EXPECT_EQ(comity_pool_own(p, COMITY_POOL_PRODUCER, COMITY_POOL_OWNER_NONE), EPERM);
        EXPECT_EQ(comity_pool_pop(p, &u), 0); // the other side is free
    }).join();
    std::thread([&] { EXPECT_EQ(comity_pool_push(p, b.unit), EPERM); }).join();
    EXPECT_EQ(u, a.unit);
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_PRODUCER, COMITY_POOL_OWNER_NONE), 0);
    std::thread([&] { EXPECT_EQ(comity_pool_push(p, b.unit), 0); }).join();
    EXPECT_EQ(comity_pool_pop(p, &u), 0);
    EXPECT_EQ(comity_pool_free(p), 0);
}

TEST(pool_access, a_side_given_to_a_hart_is_for_whatever_runs_there) {
    const comity::threads scope;
    comity_pool_t *p = make(COMITY_POOL_PRIVATE, COMITY_POOL_LIFO);
    counted c;
    comity_unit_t *u = nullptr;
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_BOTH_SIDES, COMITY_POOL_OWNER_HART), 0);
    const int hart = comity_hart_id();
    EXPECT_EQ(comity_pool_push(p, c.unit), 0);
    comity::thread([&] {
        const int expected = comity_hart_id() == hart ? 0 : EPERM;
        EXPECT_EQ(comity_pool_pop(p, &u), expected);
        if (expected == 0) {
            EXPECT_EQ(comity_pool_push(p, u), 0);
        }
    }).join();
    std::thread([&] { EXPECT_EQ(comity_pool_pop(p, &u), EPERM); }).join();
    if (comity_hart_id() != hart) GTEST_SKIP() << "moved to another hart, which may not free the side";
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_PRODUCER, COMITY_POOL_OWNER_NONE), 0);
    EXPECT_EQ(comity_pool_pop(p, &u), 0);
    EXPECT_EQ(comity_pool_free(p), 0);
}

TEST(pool_access, only_what_belongs_to_one_is_given_away) {
    comity_pool_t *p = make(COMITY_POOL_MPSC, COMITY_POOL_FIFO);
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_PRODUCER, COMITY_POOL_OWNER_NONE), EINVAL);
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_BOTH_SIDES, COMITY_POOL_OWNER_NONE), EINVAL);
    EXPECT_EQ(comity_pool_own(p, static_cast<comity_pool_side_t>(0), COMITY_POOL_OWNER_NONE), EINVAL);
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_CONSUMER, static_cast<comity_pool_owner_t>(3)), EINVAL);
    std::thread([&] { // it has neither
        EXPECT_EQ(comity_pool_own(p, COMITY_POOL_CONSUMER, COMITY_POOL_OWNER_HART), EINVAL);
        EXPECT_EQ(comity_pool_own(p, COMITY_POOL_CONSUMER, COMITY_POOL_OWNER_CONTEXT), EINVAL);
    })
        .join();
    EXPECT_EQ(comity_pool_own(p, COMITY_POOL_CONSUMER, COMITY_POOL_OWNER_NONE), 0);
    EXPECT_EQ(comity_pool_free(p), 0);
}

// ---- Pools of the user's own

namespace {

struct my_pool {
    std::deque<comity_unit_t *> units;
    std::size_t room = 3;
    bool freed = false;

    static my_pool &of(void *s) { return *static_cast<my_pool *>(s); }
    static comity_pool_functions_t functions() {
        comity_pool_functions_t f{};
        f.free = [](void *s) { of(s).freed = true; };
        f.push = [](void *s, comity_unit_t *u) {
            if (of(s).units.size() == of(s).room) return ENOSPC;
            of(s).units.push_back(u);
            return 0;
        };
        f.pop = [](void *s) -> comity_unit_t * {
            if (of(s).units.empty()) return nullptr;
            comity_unit_t *u = of(s).units.front();
            of(s).units.pop_front();
            return u;
        };
        f.size = [](void *s) { return of(s).units.size(); };
        return f;
    }
};

} // namespace

TEST(user_pool, does_what_its_functions_say) {
    my_pool mine;
    const comity_pool_functions_t f = my_pool::functions();
    comity_pool_t *p = nullptr;
    ASSERT_EQ(comity_pool_create_user(&p, COMITY_POOL_MPMC, &f, &mine), 0);
    EXPECT_EQ(comity_pool_order(p), COMITY_POOL_USER);
    counted c[4];
    comity_unit_t *in[] = {c[0].unit, c[1].unit, c[2].unit, c[3].unit}, *out[4];
    std::size_t n = 0;
    EXPECT_EQ(comity_pool_push_many(p, in, 4, &n), ENOSPC);
    EXPECT_EQ(n, 3U);
    EXPECT_EQ(comity_pool_push(p, in[3]), ENOSPC);
    EXPECT_EQ(comity_pool_size(p), 3U);
    EXPECT_EQ(comity_pool_free(p), EBUSY);
    EXPECT_EQ(comity_pool_remove(p, in[0]), ENOTSUP);
    EXPECT_EQ(comity_pool_for_each(
                  p, [](void *, comity_unit_t *) {}, nullptr),
              ENOTSUP);
    EXPECT_EQ(comity_pool_pop_many(p, out, 4, &n), 0);
    EXPECT_EQ(n, 3U);
    EXPECT_EQ(out[0], in[0]);
    EXPECT_EQ(out[2], in[2]);
    EXPECT_TRUE(comity_pool_is_empty(p));
    EXPECT_FALSE(mine.freed);
    EXPECT_EQ(comity_pool_free(p), 0);
    EXPECT_TRUE(mine.freed);
}

TEST(user_pool, uses_the_functions_for_many_when_there_are_some) {
    struct state {
        std::size_t pushed = 0, popped = 0;
        comity_unit_t *removed = nullptr;
        bool asked = false;
    } s;
    comity_pool_functions_t f = my_pool::functions();
    f.free = nullptr;
    f.create = [](void *arg, void **to) {
        *to = arg;
        return 0;
    };
    f.push_many = [](void *p, comity_unit_t *const *, std::size_t n) {
        static_cast<state *>(p)->pushed = n;
        return n - 1;
    };
    f.pop_many = [](void *p, comity_unit_t **, std::size_t n) {
        static_cast<state *>(p)->popped = n;
        return std::size_t{2};
    };
    f.remove = [](void *p, comity_unit_t *u) {
        static_cast<state *>(p)->removed = u;
        return 0;
    };
    f.is_empty = [](void *p) {
        static_cast<state *>(p)->asked = true;
        return 1;
    };
    f.for_each = [](void *, void (*fn)(void *, comity_unit_t *), void *arg) { fn(arg, nullptr); };
    comity_pool_t *p = nullptr;
    ASSERT_EQ(comity_pool_create_user(&p, COMITY_POOL_PRIVATE, &f, &s), 0);
    counted c;
    comity_unit_t *in[] = {c.unit, c.unit, c.unit}, *out[5];
    std::size_t n = 0;
    EXPECT_EQ(comity_pool_push_many(p, in, 3, &n), ENOMEM); // one less than asked
    EXPECT_EQ(n, 2U);
    EXPECT_EQ(s.pushed, 3U);
    EXPECT_EQ(comity_pool_pop_many(p, out, 5, &n), 0);
    EXPECT_EQ(n, 2U);
    EXPECT_EQ(s.popped, 5U);
    EXPECT_EQ(comity_pool_remove(p, c.unit), 0);
    EXPECT_EQ(s.removed, c.unit);
    int calls = 0;
    EXPECT_EQ(comity_pool_for_each(
                  p, [](void *k, comity_unit_t *) { ++*static_cast<int *>(k); }, &calls),
              0);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(comity_pool_free(p), 0);
    EXPECT_TRUE(s.asked);
}

TEST(user_pool, without_what_it_needs_is_refused) {
    comity_pool_t *p = nullptr;
    EXPECT_EQ(comity_pool_create_user(&p, COMITY_POOL_MPMC, nullptr, nullptr), EINVAL);
    for (int missing = 0; missing < 3; ++missing) {
        comity_pool_functions_t f = my_pool::functions();
        if (missing == 0) f.push = nullptr;
        if (missing == 1) f.pop = nullptr;
        if (missing == 2) f.size = nullptr;
        EXPECT_EQ(comity_pool_create_user(&p, COMITY_POOL_MPMC, &f, nullptr), EINVAL);
    }
    comity_pool_functions_t f = my_pool::functions();
    EXPECT_EQ(comity_pool_create_user(&p, static_cast<comity_pool_access_t>(-1), &f, nullptr), EINVAL);
    f.create = [](void *, void **) { return ENOSPC; };
    EXPECT_EQ(comity_pool_create_user(&p, COMITY_POOL_MPMC, &f, nullptr), ENOSPC);
    EXPECT_EQ(p, nullptr);
}
