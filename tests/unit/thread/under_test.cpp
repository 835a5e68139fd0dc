// Threads that are created for another scheduler than the caller's, and priorities that change.
#include "comity/scheduler.hpp"
#include "comity/sync.h"
#include "comity/thread.hpp"

#include "techniques.hpp"

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

namespace {

// A scheduler that a thread of its own has opened, and keeps open until it is told.
struct other_scheduler {
    std::atomic<comity_scheduler_t *> handle{nullptr};
    comity_event_t end = COMITY_EVENT_INIT;
    comity_scheduler_attr_t attr{};
    comity_thread_t *opener = nullptr;

    explicit other_scheduler(comity_scheduler_kind_t kind, comity_pool_t *const *pools = nullptr) {
        attr.kind = kind;
        attr.pools = pools;
        attr.pool_count = pools ? 1 : 0;
        EXPECT_EQ(comity_thread_create(
                      &opener, nullptr,
                      [](void *p) {
                          auto *self = static_cast<other_scheduler *>(p);
                          EXPECT_EQ(comity_threads_begin_with(&self->attr), 0);
                          self->handle = comity_scheduler_self();
                          comity_event_wait(&self->end);
                          comity_threads_end();
                          return p;
                      },
                      this),
                  0);
        while (!handle) comity_thread_yield();
    }
    ~other_scheduler() {
        comity_event_set(&end);
        EXPECT_EQ(comity_thread_join(opener, nullptr), 0);
    }
};

void *where_am_i(void *p) {
    comity_thread_yield();
    return p ? p : comity_scheduler_self();
}

class threads_under_others : public each_technique {
protected:
    void SetUp() override { ASSERT_EQ(comity_threads_begin(), 0); }
    void TearDown() override { comity_threads_end(); }
    static comity_thread_attr_t attr() {
        comity_thread_attr_t a{};
        a.technique = GetParam();
        return a;
    }
};
INSTANTIATE_TEST_SUITE_P(each, threads_under_others, techniques_that_wait, technique_name);

} // namespace

TEST_P(threads_under_others, run_there) {
    for (const auto kind : {COMITY_SCHEDULER_WORK_STEALING, COMITY_SCHEDULER_FIFO, COMITY_SCHEDULER_PRIORITY}) {
        other_scheduler other(kind);
        const comity_thread_attr_t a = attr();
        std::vector<comity_thread_t *> all(50);
        for (comity_thread_t *&t : all)
            ASSERT_EQ(comity_thread_create_under(other.handle, nullptr, &t, &a, where_am_i, nullptr), 0);
        for (comity_thread_t *t : all) {
            void *result = nullptr;
            EXPECT_EQ(comity_thread_join(t, &result), 0);
            EXPECT_EQ(result, other.handle.load());
        }
    }
}

TEST_P(threads_under_others, are_created_by_kernel_threads_too) {
    other_scheduler other(COMITY_SCHEDULER_WORK_STEALING);
    const comity_thread_attr_t a = attr();
    std::atomic<bool> done{false};
    std::thread outside([&] {
        for (int i = 0; i < 20; ++i) {
            comity_thread_t *t = nullptr;
            EXPECT_EQ(comity_thread_create_under(other.handle, nullptr, &t, &a, where_am_i, nullptr), 0);
            void *result = nullptr;
            EXPECT_EQ(comity_thread_join(t, &result), 0);
            EXPECT_EQ(result, other.handle.load());
        }
        done = true;
    });
    while (!done) comity_thread_sleep_for(100'000);
    outside.join();
}

// With two harts one is with this thread, which sleeps in the kernel, so theirs is that of who has created them.
TEST_P(threads_under_others, have_the_hart_of_the_kernel_thread_that_created_them) {
    if (comity_hart_count() == 1) GTEST_SKIP() << "needs two harts";
    comity_scheduler_t *own = comity_scheduler_self();
    const comity_thread_attr_t a = attr();
    std::thread outside([&] {
        for (int i = 0; i < 3; ++i) {
            comity_thread_t *t = nullptr;
            EXPECT_EQ(comity_thread_create_under(own, nullptr, &t, &a, where_am_i, nullptr), 0);
            void *result = nullptr;
            EXPECT_EQ(comity_thread_join(t, &result), 0);
            EXPECT_EQ(result, own);
        }
    });
    outside.join();
}

TEST_P(threads_under_others, may_be_prepared_elsewhere) {
    other_scheduler other(COMITY_SCHEDULER_FIFO);
    const comity_thread_attr_t a = attr();
    const auto run = [](void *) { return where_am_i(nullptr); };
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_prepare(&t, &a, run, nullptr), 0);
    EXPECT_EQ(comity_thread_launch_under(t, other.handle, nullptr), 0);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, other.handle.load());
    // Prepared there, launched here.
    ASSERT_EQ(comity_thread_prepare_under(other.handle, &t, &a, run, nullptr), 0);
    EXPECT_EQ(comity_thread_launch(t), 0);
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, comity_scheduler_self());
}

TEST_P(threads_under_others, keep_those_from_ending_while_they_live) {
    static std::atomic<int> ran;
    ran = 0;
    {
        other_scheduler other(COMITY_SCHEDULER_WORK_STEALING);
        comity_thread_attr_t a = attr();
        a.detached = 1;
        for (int i = 0; i < 100; ++i)
            ASSERT_EQ(comity_thread_create_under(
                          other.handle, nullptr, nullptr, &a,
                          [](void *p) {
                              for (int n = 0; n < 3; ++n) comity_thread_yield();
                              ++ran;
                              return p;
                          },
                          nullptr),
                      0);
    }
    EXPECT_EQ(ran, 100);
}

TEST_P(threads_under_others, do_not_stand_in_a_pool_of_somebody_elses) {
    comity_pool_t *own = nullptr, *alien = nullptr;
    ASSERT_EQ(comity_pool_create(&own, COMITY_POOL_MPMC, COMITY_POOL_FIFO), 0);
    ASSERT_EQ(comity_pool_create(&alien, COMITY_POOL_MPMC, COMITY_POOL_FIFO), 0);
    const comity_thread_attr_t a = attr();
    for (const comity_scheduler_kind_t kind :
         {COMITY_SCHEDULER_WORK_STEALING, COMITY_SCHEDULER_FIFO, COMITY_SCHEDULER_POOLS}) {
        other_scheduler other(kind, kind == COMITY_SCHEDULER_POOLS ? &own : nullptr);
        comity_thread_t *t = nullptr;
        EXPECT_EQ(comity_thread_create_under(other.handle, alien, &t, &a, where_am_i, nullptr), EINVAL);
        ASSERT_EQ(comity_thread_prepare_under(other.handle, &t, &a, where_am_i, nullptr), 0);
        EXPECT_EQ(comity_thread_launch_under(t, other.handle, alien), EINVAL);
        EXPECT_EQ(comity_thread_launch_under(t, other.handle, nullptr), 0); // it is still there
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    }
    EXPECT_EQ(comity_pool_size(alien), 0U);
    EXPECT_EQ(comity_pool_free(own), 0);
    EXPECT_EQ(comity_pool_free(alien), 0);
}

TEST_P(threads_under_others, stand_in_a_pool_of_theirs) {
    comity_pool_t *pool = nullptr;
    ASSERT_EQ(comity_pool_create(&pool, COMITY_POOL_MPMC, COMITY_POOL_FIFO), 0);
    {
        other_scheduler other(COMITY_SCHEDULER_POOLS, &pool);
        const comity_thread_attr_t a = attr();
        comity_thread_t *t = nullptr;
        ASSERT_EQ(comity_thread_create_under(other.handle, pool, &t, &a, where_am_i, nullptr), 0);
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(t, &result), 0);
        EXPECT_EQ(result, other.handle.load());
    }
    EXPECT_EQ(comity_pool_free(pool), 0);
}

TEST(threads_under_other_schedulers, in_cpp_say_so_in_their_attributes) {
    const comity::threads scope;
    other_scheduler other(COMITY_SCHEDULER_LIFO);
    comity_scheduler_t *found = nullptr;
    comity::thread::attributes a;
    a.under = other.handle;
    comity::thread t(a, [&] { found = comity_scheduler_self(); });
    t.join();
    EXPECT_EQ(found, other.handle.load());
    found = nullptr;
    std::atomic<bool> done{false};
    std::thread outside([&] {
        comity::thread inner(a, [&] { found = comity_scheduler_self(); });
        inner.join();
        EXPECT_EQ(comity_scheduler_self(), nullptr) << "one was opened for it";
        done = true;
    });
    while (!done) comity_thread_sleep_for(100'000);
    outside.join();
    EXPECT_EQ(found, other.handle.load());
}

TEST(threads_under_other_schedulers, that_are_not_there_are_an_error) {
    comity_thread_t *t = nullptr;
    const auto nothing = [](void *p) { return p; };
    EXPECT_EQ(comity_thread_create_under(nullptr, nullptr, &t, nullptr, nothing, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_prepare_under(nullptr, &t, nullptr, nothing, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_launch_under(nullptr, nullptr, nullptr), EINVAL);
}

// ---- Priorities

TEST(priorities, that_change_count_from_the_next_time_in_line) {
    comity_scheduler_attr_t how{};
    how.kind = COMITY_SCHEDULER_PRIORITY;
    how.most_harts = 1;
    ASSERT_EQ(comity_threads_begin_with(&how), 0);
    static comity_event_t start;
    static std::atomic<int> next;
    static std::atomic<bool> waits[3];
    comity_event_init(&start);
    next = 0;
    struct place {
        int number, order;
    } places[3] = {{0, 0}, {1, 0}, {2, 0}};
    comity_thread_t *t[3] = {};
    for (int i = 0; i < 3; ++i) {
        waits[i] = false;
        ASSERT_EQ(comity_thread_create(
                      &t[i], nullptr,
                      [](void *p) {
                          auto *own = static_cast<place *>(p);
                          waits[own->number] = true;
                          comity_event_wait(&start);
                          own->order = ++next;
                          comity_thread_yield(); // behind those of its priority, and before lower ones
                          own->order = own->order * 10 + ++next;
                          return p;
                      },
                      &places[i]),
                  0);
    }
    for (int i = 0; i < 3; ++i)
        while (!waits[i] || comity_thread_state(t[i]) != COMITY_THREAD_PAUSED) comity_thread_yield();
    EXPECT_EQ(comity_thread_set_priority(t[2], 200), 0);
    EXPECT_EQ(comity_thread_set_priority(t[1], 100), 0);
    EXPECT_EQ(comity_thread_priority(t[2]), 200);
    comity_thread_attr_t attr{};
    EXPECT_EQ(comity_thread_get_attr(t[1], &attr), 0);
    EXPECT_EQ(attr.priority, 100);
    EXPECT_EQ(comity_thread_set_priority(nullptr, 1), EINVAL);
    comity_event_set(&start);
    for (comity_thread_t *joined : t) EXPECT_EQ(comity_thread_join(joined, nullptr), 0);
    EXPECT_EQ(places[2].order, 12);
    EXPECT_EQ(places[1].order, 34);
    EXPECT_EQ(places[0].order, 56);
    comity_threads_end();
}

TEST(priorities, of_cpp_threads_can_be_read_and_written) {
    const comity::threads scope;
    comity::thread t([] {});
    t.set_priority(7);
    EXPECT_EQ(t.priority(), 7);
    t.join();
    EXPECT_THROW(t.set_priority(1), std::system_error);
}
