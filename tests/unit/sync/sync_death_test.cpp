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
