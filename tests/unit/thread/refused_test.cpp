// Threads that start while the kernel refuses kernel threads.
#include "comity/thread.h"
#include "core/tls/block.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>

namespace {
std::atomic<int> refused{0};
}

TEST(start, waits_for_storage_that_cannot_be_had_at_the_moment) {
    ASSERT_EQ(0, comity_threads_begin());
    const comity_thread_attr_t a{COMITY_TECHNIQUE_FULL_L, 0, 1, 0};
    comity_thread_t *t = nullptr;
    ASSERT_EQ(0, comity_thread_create(
                     &t, &a, [](void *p) { return p; }, &refused));
    comity::core::set_donor_start_hook([] { return ++refused > 3 ? 0 : EAGAIN; });
    void *result = nullptr;
    EXPECT_EQ(0, comity_thread_join(t, &result));
    comity::core::set_donor_start_hook(nullptr);
    EXPECT_EQ(&refused, result);
    EXPECT_LT(3, refused);
    comity_threads_end();
}
