// C11's threads, on Comity's threads and on the C library's.
#include <gtest/gtest.h>

#include <atomic>
#include <ctime>

#include <threads.h>

TEST(c11, threads_and_their_objects) {
    static mtx_t m;
    static cnd_t c;
    static tss_t key;
    static int turn = 0;
    static std::atomic<int> ended{0};
    ASSERT_EQ(thrd_success, mtx_init(&m, mtx_timed));
    ASSERT_EQ(thrd_success, cnd_init(&c));
    ASSERT_EQ(thrd_success, tss_create(&key, [](void *) { ++ended; }));
    thrd_t t{};
    ASSERT_EQ(thrd_success, thrd_create(
                                &t,
                                [](void *p) -> int {
                                    tss_set(key, p);
                                    mtx_lock(&m);
                                    turn = 1;
                                    cnd_signal(&c);
                                    mtx_unlock(&m);
                                    thrd_exit(42);
                                },
                                &turn));
    mtx_lock(&m);
    while (!turn) cnd_wait(&c, &m);
    timespec soon{};
    timespec_get(&soon, TIME_UTC);
    soon.tv_nsec = (soon.tv_nsec + 2'000'000) % 1'000'000'000; // at most a second late, if not early
    EXPECT_EQ(thrd_timedout, cnd_timedwait(&c, &m, &soon));
    mtx_unlock(&m);
    int result = 0;
    ASSERT_EQ(thrd_success, thrd_join(t, &result));
    EXPECT_EQ(42, result);
    EXPECT_EQ(1, ended);
    tss_delete(key);
    cnd_destroy(&c);
    mtx_destroy(&m);
}
