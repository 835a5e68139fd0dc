#include "comity/sync.h"

#include <gtest/gtest.h>

namespace {
class sync_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
} // namespace

TEST_F(sync_death, unlocking_what_is_not_locked) {
    EXPECT_DEATH(
        {
            comity_mutex_t m = COMITY_MUTEX_INIT;
            comity_mutex_unlock(&m);
        },
        "comity_mutex_unlock.*not locked");
}

TEST_F(sync_death, destroying_a_locked_mutex) {
    EXPECT_DEATH(
        {
            comity_mutex_t m = COMITY_MUTEX_INIT;
            comity_mutex_lock(&m);
            comity_mutex_fini(&m);
        },
        "comity_mutex_fini.*locked");
}

TEST_F(sync_death, destroying_other_locks_that_are_locked) {
    EXPECT_DEATH(
        {
            comity_recursive_mutex_t m = COMITY_RECURSIVE_MUTEX_INIT;
            comity_recursive_mutex_lock(&m);
            comity_recursive_mutex_fini(&m);
        },
        "comity_recursive_mutex_fini.*locked");
    EXPECT_DEATH(
        {
            comity_rwlock_t l = COMITY_RWLOCK_INIT;
            comity_rwlock_rdlock(&l);
            comity_rwlock_fini(&l);
        },
        "comity_rwlock_fini.*locked");
}

TEST_F(sync_death, unlocking_a_readers_writer_lock_otherwise_than_it_is_locked) {
    EXPECT_DEATH(
        {
            comity_rwlock_t l = COMITY_RWLOCK_INIT;
            comity_rwlock_rdlock(&l);
            comity_rwlock_wrunlock(&l);
        },
        "comity_rwlock_wrunlock.*not locked for writing");
    EXPECT_DEATH(
        {
            comity_rwlock_t l = COMITY_RWLOCK_INIT;
            comity_rwlock_wrlock(&l);
            comity_rwlock_rdunlock(&l);
        },
        "comity_rwlock_rdunlock.*not locked for reading");
}

TEST_F(sync_death, arriving_when_everybody_has_dropped_out) {
    EXPECT_DEATH(
        {
            comity_barrier_t b;
            comity_barrier_init(&b, 1);
            comity_barrier_drop(&b);
            comity_barrier_wait(&b);
        },
        "comity_barrier_wait.*dropped out");
}

TEST_F(sync_death, ending_what_nobody_has_begun) {
    EXPECT_DEATH(
        {
            comity_once_t o = COMITY_ONCE_INIT;
            comity_once_end(&o, 1);
        },
        "comity_once_end.*begun");
}
