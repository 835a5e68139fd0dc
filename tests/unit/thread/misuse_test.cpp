// What a program does wrong with handles, and ends of threads that C++ did not foresee.
#include "comity/pool.h"
#include "comity/scheduler.h"
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include "techniques.hpp"

#include <cerrno>
#include <system_error>
#include <thread>

namespace {

class thread_handles : public each_technique {
protected:
    void SetUp() override { ASSERT_EQ(comity_threads_begin(), 0); }
    void TearDown() override { comity_threads_end(); }
};
INSTANTIATE_TEST_SUITE_P(each, thread_handles, all_techniques, technique_name);

void *same(void *p) { return p; }

int value_at_exit = 0;
void *exit_with_data(void *) { comity_thread_exit(&value_at_exit); }

void *is_not_cancelled(void *p) {
    EXPECT_EQ(comity_thread_testcancel(), 0);
    if (!is_stackless(comity_thread_self())) {
        EXPECT_EQ(comity_thread_sleep_for(1000), 0);
    }
    return p;
}

} // namespace

// Run by the joiner itself if it can be, or ended before.
TEST_P(thread_handles, that_were_joined_are_refused_and_harm_nobody) {
    for (const bool waits : {false, true}) {
        comity_thread_t *t = create(same, nullptr);
        for (int i = 0; waits && i < 20; ++i) comity_thread_yield();
        ASSERT_EQ(comity_thread_join(t, nullptr), 0);
        EXPECT_EQ(comity_thread_cancel(t), EINVAL);
        EXPECT_EQ(comity_thread_set_priority(t, 3), EINVAL);
        EXPECT_EQ(comity_thread_set_name(t, "late"), EINVAL);
        EXPECT_EQ(comity_thread_tryjoin(t, nullptr), EINVAL);
        EXPECT_EQ(comity_thread_timedjoin(t, nullptr, COMITY_NO_DEADLINE), EINVAL);
        EXPECT_EQ(comity_thread_join(t, nullptr), EINVAL);
        EXPECT_EQ(comity_thread_wait(t, nullptr), EINVAL);
        EXPECT_EQ(comity_thread_detach(t), EINVAL);
        EXPECT_EQ(comity_thread_revive(t, same, nullptr), EINVAL);
        EXPECT_EQ(comity_thread_launch(t), EINVAL);
        EXPECT_EQ(comity_thread_yield_to(t), ESRCH);
        EXPECT_EQ(comity_thread_state(t), COMITY_THREAD_ENDED);
        comity_thread_t *next = create(is_not_cancelled, &next), *other = create(is_not_cancelled, &other);
        EXPECT_NE(next, other);
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(next, &result), 0);
        EXPECT_EQ(result, &next);
        EXPECT_EQ(comity_thread_join(other, &result), 0);
        EXPECT_EQ(result, &other);
    }
}

TEST_P(thread_handles, are_launched_once) {
    comity_thread_attr_t attr{};
    attr.technique = GetParam();
    comity_thread_t *t = create(same, &attr);
    EXPECT_EQ(comity_thread_launch(t), EINVAL);
    EXPECT_EQ(comity_thread_launch_under(t, comity_scheduler_self(), nullptr), EINVAL);
    EXPECT_EQ(comity_thread_wait(t, nullptr), 0);
    EXPECT_EQ(comity_thread_revive(t, same, &attr), 0);
    EXPECT_EQ(comity_thread_launch(t), EINVAL);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &attr);

    void *data = nullptr;
    ASSERT_EQ(comity_thread_prepare(&t, &attr, same, &data), 0);
    EXPECT_EQ(comity_thread_launch(t), 0);
    EXPECT_EQ(comity_thread_launch(t), EINVAL);
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, data);

    ASSERT_EQ(comity_thread_prepare_under(comity_scheduler_self(), &t, &attr, same, &data), 0);
    EXPECT_EQ(comity_thread_launch_under(t, comity_scheduler_self(), nullptr), 0);
    EXPECT_EQ(comity_thread_launch_under(t, comity_scheduler_self(), nullptr), EINVAL);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    ASSERT_EQ(comity_thread_create_under(comity_scheduler_self(), nullptr, &t, &attr, same, nullptr), 0);
    EXPECT_EQ(comity_thread_launch(t), EINVAL);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
}

TEST_P(thread_handles, that_were_not_launched_are_refused_by_who_waits_for_their_end) {
    comity_thread_attr_t attr{};
    attr.technique = GetParam();
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_prepare(&t, &attr, same, nullptr), 0);
    EXPECT_EQ(comity_thread_join(t, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_join_many(&t, 1, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_wait(t, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_tryjoin(t, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_timedjoin(t, nullptr, COMITY_NO_DEADLINE), EINVAL);
    int error = 0;
    std::thread([&] { error = comity_thread_join(t, nullptr); }).join(); // which has no hart
    EXPECT_EQ(error, EINVAL);
    EXPECT_EQ(comity_thread_launch(t), 0); // it is still there
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
}

TEST_P(thread_handles, that_were_not_launched_can_be_given_up) {
    comity_thread_attr_t attr{};
    attr.technique = GetParam();
    comity_thread_t *t = nullptr, *again = nullptr;
    ASSERT_EQ(comity_thread_prepare(&t, &attr, same, nullptr), 0);
    EXPECT_EQ(comity_thread_set_name(t, "in vain"), 0);
    EXPECT_EQ(comity_thread_discard(t), 0);
    EXPECT_EQ(comity_thread_launch(t), EINVAL);
    EXPECT_EQ(comity_thread_discard(t), EINVAL);
    ASSERT_EQ(comity_thread_prepare(&again, &attr, same, nullptr), 0);
    EXPECT_EQ(again, t); // it was free
    EXPECT_EQ(comity_thread_launch(again), 0);
    EXPECT_EQ(comity_thread_discard(again), EINVAL);
    EXPECT_EQ(comity_thread_join(again, nullptr), 0);
    EXPECT_EQ(comity_thread_discard(nullptr), EINVAL);
}

// The scheduler that the first of them opened ends with the last one.
TEST(thread_attributes, of_a_stackless_thread_give_it_nothing_of_its_own) {
    const comity::threads scope;
    static const int hart = 0;
    comity_thread_attr_t with[3] = {{}, {}, {}};
    with[0].stack_size = 65536;
    with[1].own_tls = 1;
    with[2].harts = &hart, with[2].hart_count = 1;
    for (comity_thread_attr_t &a : with) {
        a.technique = COMITY_TECHNIQUE_STACKLESS;
        comity_thread_t *t = nullptr;
        EXPECT_EQ(comity_thread_create(
                      &t, &a, [](void *p) { return p; }, nullptr),
                  EINVAL);
        EXPECT_EQ(t, nullptr);
    }
}

TEST(threads_that_were_not_launched, do_not_keep_a_scheduler) {
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_prepare(&t, nullptr, same, nullptr), 0);
    EXPECT_NE(comity_scheduler_self(), nullptr);
    EXPECT_EQ(comity_thread_discard(t), 0);
    EXPECT_EQ(comity_scheduler_self(), nullptr);
}

TEST(no_handle, is_an_error) {
    const comity::threads scope;
    EXPECT_EQ(comity_thread_priority(nullptr), 0);
    EXPECT_EQ(comity_thread_set_priority(nullptr, 1), EINVAL);
    EXPECT_EQ(comity_thread_state(nullptr), COMITY_THREAD_ENDED);
    EXPECT_EQ(comity_thread_join_many(nullptr, 3, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_join_many(nullptr, 0, nullptr), 0);
    EXPECT_EQ(comity_scheduler_get_info(nullptr), EINVAL);
    comity_unit_t *u = nullptr;
    EXPECT_EQ(comity_pool_pop(nullptr, &u), EINVAL);
    EXPECT_EQ(comity_pool_size(nullptr), 0U);
    EXPECT_EQ(comity_pool_is_empty(nullptr), 1);
    comity_pool_t *p = nullptr;
    ASSERT_EQ(comity_pool_create(&p, COMITY_POOL_MPMC, COMITY_POOL_FIFO), 0);
    EXPECT_EQ(comity_pool_pop(p, nullptr), EINVAL);
    EXPECT_EQ(comity_pool_free(p), 0);
}

TEST(exit_of_a_thread_in_cxx, drops_the_value) {
    const comity::threads scope;
    static int value = 1;
    comity::thread t([] { comity_thread_exit(&value); });
    EXPECT_NO_THROW(t.join());
    const comity::thread unjoined([] { comity_thread_exit(&value); });
}

TEST(exit_of_a_thread_in_cxx, keeps_that_it_was_cancelled) {
    const comity::threads scope;
    comity::thread t([] { comity_thread_exit(COMITY_THREAD_CANCELLED); });
    EXPECT_THROW(t.join(), std::system_error);
}

TEST(exit_of_a_thread_that_unwinds, keeps_the_value_in_c) {
    const comity::threads scope;
    comity_thread_attr_t attr{};
    attr.unwinds = 1;
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_prepare(&t, &attr, exit_with_data, nullptr), 0);
    ASSERT_EQ(comity_thread_launch(t), 0);
    void *result = nullptr;
    ASSERT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &value_at_exit);
}
