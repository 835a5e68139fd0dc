// Argobots' interface between ABT_init and ABT_finalize, with some streams.
#pragma once

#include <abt.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#define OK(call) ASSERT_EQ(ABT_SUCCESS, call)

class argobots : public ::testing::Test {
protected:
    void SetUp() override {
        OK(ABT_init(0, nullptr));
        ABT_xstream primary = ABT_XSTREAM_NULL;
        OK(ABT_self_get_xstream(&primary));
        streams.push_back(primary);
        pools.push_back(first_pool(primary));
    }
    void TearDown() override {
        for (std::size_t i = 1; i < streams.size(); ++i) OK(ABT_xstream_free(&streams[i]));
        OK(ABT_finalize());
    }
    void add_streams(int n) {
        for (int i = 0; i < n; ++i) {
            ABT_xstream s = ABT_XSTREAM_NULL;
            OK(ABT_xstream_create(ABT_SCHED_NULL, &s));
            streams.push_back(s);
            pools.push_back(first_pool(s));
        }
    }
    static ABT_pool first_pool(ABT_xstream s) {
        ABT_pool p = ABT_POOL_NULL;
        EXPECT_EQ(ABT_SUCCESS, ABT_xstream_get_main_pools(s, 1, &p));
        return p;
    }
    // A ULT that calls the function, which must outlive it.
    static ABT_thread start(ABT_pool p, std::function<void()> &fn) {
        ABT_thread t = ABT_THREAD_NULL;
        EXPECT_EQ(ABT_SUCCESS,
                  ABT_thread_create(
                      p, [](void *f) { (*static_cast<std::function<void()> *>(f))(); }, &fn, ABT_THREAD_ATTR_NULL, &t));
        return t;
    }
    static void await_state(ABT_thread t, ABT_thread_state wanted) {
        for (ABT_thread_state now = ABT_THREAD_STATE_READY;; ABT_thread_yield()) {
            OK(ABT_thread_get_state(t, &now));
            if (now == wanted) return;
        }
    }
    std::vector<ABT_xstream> streams;
    std::vector<ABT_pool> pools; // the first of each
};
