// Each error that comity/sync.h documents, and the objects that C++ reaches by another way.
#include "comity/sync.h"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <thread>

TEST(c_interface, zero_is_the_initial_state) {
    static comity_semaphore_t s = COMITY_SEMAPHORE_INIT;
    EXPECT_EQ(comity_semaphore_trywait(&s), 0);
    static comity_latch_t l = COMITY_LATCH_INIT;
    EXPECT_EQ(comity_latch_is_open(&l), 1);
    static comity_rwlock_t rw = COMITY_RWLOCK_INIT;
    EXPECT_EQ(comity_rwlock_trywrlock(&rw), 1);
    comity_rwlock_wrunlock(&rw);
    static comity_recursive_mutex_t r = COMITY_RECURSIVE_MUTEX_INIT;
    EXPECT_EQ(comity_recursive_mutex_trylock(&r), 0);
    EXPECT_EQ(comity_recursive_mutex_unlock(&r), 0);
    static comity_event_t e = COMITY_EVENT_INIT;
    EXPECT_EQ(comity_event_timedwait(&e, INT64_MIN), ETIMEDOUT);
}

TEST(c_interface, a_semaphore_tells_what_is_too_much) {
    comity_semaphore_t s;
    EXPECT_EQ(comity_semaphore_init(&s, COMITY_SEMAPHORE_MAX + 1U), EINVAL);
    ASSERT_EQ(comity_semaphore_init(&s, COMITY_SEMAPHORE_MAX - 1U), 0);
    EXPECT_EQ(comity_semaphore_post_many(&s, 2), EOVERFLOW);
    EXPECT_EQ(comity_semaphore_post_many(&s, UINT32_MAX), EOVERFLOW);
    EXPECT_EQ(comity_semaphore_value(&s), COMITY_SEMAPHORE_MAX - 1U);
    EXPECT_EQ(comity_semaphore_post(&s), 0);
    EXPECT_EQ(comity_semaphore_post(&s), EOVERFLOW);
    EXPECT_EQ(comity_semaphore_post_many(&s, 0), 0);
    comity_semaphore_fini(&s);
}

TEST(c_interface, a_recursive_mutex_tells_who_does_not_own_it) {
    comity_recursive_mutex_t m = COMITY_RECURSIVE_MUTEX_INIT;
    EXPECT_EQ(comity_recursive_mutex_unlock(&m), EPERM);
    EXPECT_EQ(comity_recursive_mutex_lock(&m), 0);
    EXPECT_EQ(comity_recursive_mutex_timedlock(&m, 0), 0);
    std::thread([&m] {
        EXPECT_EQ(comity_recursive_mutex_trylock(&m), EBUSY);
        EXPECT_EQ(comity_recursive_mutex_timedlock(&m, comity_deadline_in(1'000'000)), ETIMEDOUT);
        EXPECT_EQ(comity_recursive_mutex_unlock(&m), EPERM);
    }).join();
    EXPECT_EQ(comity_recursive_mutex_unlock(&m), 0);
    EXPECT_EQ(comity_recursive_mutex_unlock(&m), 0);
    EXPECT_EQ(comity_recursive_mutex_unlock(&m), EPERM);
    comity_recursive_mutex_fini(&m);
}

TEST(c_interface, numbers_of_a_barrier_and_a_latch_are_checked) {
    comity_barrier_t b;
    EXPECT_EQ(comity_barrier_init(&b, COMITY_BARRIER_MAX + 1U), EINVAL);
    ASSERT_EQ(comity_barrier_init(&b, COMITY_BARRIER_MAX), 0);
    EXPECT_EQ(comity_barrier_resize(&b, 0), EINVAL);
    EXPECT_EQ(comity_barrier_resize(&b, COMITY_BARRIER_MAX + 1U), EINVAL);
    comity_barrier_arrive(&b);
    EXPECT_EQ(comity_barrier_resize(&b, 2), 0);
    EXPECT_EQ(comity_barrier_wait(&b), 1);
    comity_barrier_fini(&b);
    comity_latch_t l;
    comity_latch_init(&l, 2);
    EXPECT_EQ(comity_latch_count_down(&l, 3), EINVAL);
    EXPECT_EQ(comity_latch_count_down(&l, 2), 0);
    EXPECT_EQ(comity_latch_count_down(&l, 1), EINVAL);
    comity_latch_fini(&l);
}

TEST(c_interface, an_eventual_holds_a_value_of_its_size) {
    comity_eventual_t e;
    ASSERT_EQ(comity_eventual_init(&e, sizeof(int)), 0);
    void *value = nullptr;
    EXPECT_EQ(comity_eventual_test(&e, &value), 0);
    EXPECT_EQ(comity_eventual_timedwait(&e, &value, comity_deadline_in(1'000'000)), ETIMEDOUT);
    const long long large = 1;
    EXPECT_EQ(comity_eventual_set(&e, &large, sizeof large), EINVAL);
    const int seven = 7;
    EXPECT_EQ(comity_eventual_set(&e, &seven, sizeof seven), 0);
    EXPECT_EQ(comity_eventual_set(&e, &seven, sizeof seven), EALREADY);
    comity_eventual_wait(&e, &value);
    EXPECT_EQ(*static_cast<int *>(value), 7);
    comity_eventual_reset(&e);
    EXPECT_EQ(comity_eventual_test(&e, nullptr), 0);
    EXPECT_EQ(comity_eventual_set(&e, nullptr, 0), 0);
    EXPECT_EQ(comity_eventual_test(&e, nullptr), 1);
    comity_eventual_fini(&e);
    if (!thread_sanitizer && !address_sanitizer) { // they end the program
        EXPECT_EQ(comity_eventual_init(&e, SIZE_MAX / 2), ENOMEM);
    }
}

TEST(c_interface, a_future_is_ready_when_it_is_full) {
    comity_future_t f;
    EXPECT_EQ(comity_future_init(&f, 0, nullptr, nullptr), EINVAL);
    int a = 1, b = 2, sum = 0;
    const auto add = [](void **values, unsigned n, void *to) {
        for (unsigned i = 0; i < n; ++i) *static_cast<int *>(to) += *static_cast<int *>(values[i]);
    };
    ASSERT_EQ(comity_future_init(&f, 2, add, &sum), 0);
    void **values = nullptr;
    EXPECT_EQ(comity_future_set(&f, &a), 0);
    EXPECT_EQ(comity_future_test(&f, &values), 0);
    EXPECT_EQ(comity_future_timedwait(&f, &values, comity_deadline_in(1'000'000)), ETIMEDOUT);
    EXPECT_EQ(comity_future_set(&f, &b), 0);
    EXPECT_EQ(comity_future_set(&f, &b), EALREADY);
    comity_future_wait(&f, &values);
    EXPECT_EQ(values[0], &a);
    EXPECT_EQ(values[1], &b);
    EXPECT_EQ(sum, 3);
    comity_future_reset(&f);
    EXPECT_EQ(comity_future_test(&f, nullptr), 0);
    EXPECT_EQ(comity_future_set(&f, &b), 0);
    EXPECT_EQ(comity_future_set(&f, &b), 0);
    EXPECT_EQ(sum, 7);
    comity_future_fini(&f);
}

TEST(c_interface, a_continuation_is_called_once_or_taken_back) {
    comity_event_t e = COMITY_EVENT_INIT;
    comity_continuation_t first = COMITY_CONTINUATION_INIT, second = COMITY_CONTINUATION_INIT;
    int called = 0;
    const auto count = [](void *n) { ++*static_cast<int *>(n); };
    EXPECT_EQ(comity_event_on_set(&e, &first, count, &called), 1);
    EXPECT_EQ(comity_event_on_set(&e, &second, count, &called), 1);
    EXPECT_EQ(comity_event_forget(&e, &second), 1);
    EXPECT_EQ(comity_event_forget(&e, &second), 0);
    comity_event_set(&e);
    comity_event_set(&e);
    EXPECT_EQ(called, 1);
    EXPECT_EQ(comity_event_forget(&e, &first), 0);
    EXPECT_EQ(comity_event_on_set(&e, &second, count, &called), 0);
    EXPECT_EQ(called, 1);
    comity_event_fini(&e);
}

TEST(c_interface, once_in_two_steps_is_tried_again_when_it_failed) {
    comity_once_t o = COMITY_ONCE_INIT;
    EXPECT_EQ(comity_once_begin(&o), 1);
    comity_once_end(&o, 0);
    int calls = 0;
    const auto count = [](void *n) { ++*static_cast<int *>(n); };
    comity_once(&o, count, &calls);
    comity_once(&o, count, &calls);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(comity_once_begin(&o), 0);
    comity_once_fini(&o);
}
