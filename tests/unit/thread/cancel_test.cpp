// Suspension and cancellation, for each technique that can wait.
#include "comity/sync.hpp"
#include "comity/thread.h"

#include "techniques.hpp"

#include <atomic>
#include <cerrno>
#include <vector>

namespace {

std::atomic<int> steps{0};

class threads_that_wait : public each_technique {
protected:
    void SetUp() override {
        steps = 0;
        ASSERT_EQ(comity_threads_begin(), 0);
    }
    void TearDown() override { comity_threads_end(); }
    // Child-first threads have run by then; the others get the chance.
    static void let_others_run_until(int n) {
        while (steps < n) comity_thread_yield();
    }
    static void resume_when_suspended(comity_thread_t *t) {
        while (const int error = comity_thread_resume(t)) {
            ASSERT_EQ(error, EINVAL);
            comity_thread_yield();
        }
    }
};
INSTANTIATE_TEST_SUITE_P(each, threads_that_wait, techniques_that_wait, technique_name);

class thread_breadth_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void add_step(void *n) { steps += *static_cast<int *>(n); }
int ten = 10, hundred = 100;

} // namespace

TEST_P(threads_that_wait, suspend_themselves_until_they_are_resumed) {
    comity_thread_t *t = create(
        [](void *p) {
            for (int i = 0; i < 5; ++i) {
                ++steps;
                EXPECT_EQ(comity_thread_suspend(), 0);
            }
            return p;
        },
        &steps);
    for (int i = 1; i <= 5; ++i) {
        let_others_run_until(i);
        for (int n = 0; n < 10; ++n) comity_thread_yield();
        EXPECT_EQ(steps, i);
        resume_when_suspended(t);
    }
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &steps);
}

TEST_P(threads_that_wait, are_not_resumed_when_they_are_not_suspended) {
    comity_thread_t *t = create([](void *p) { return p; }, nullptr);
    EXPECT_EQ(comity_thread_resume(t), EINVAL);
    EXPECT_EQ(comity_thread_wait(t, nullptr), 0);
    EXPECT_EQ(comity_thread_resume(t), EINVAL);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    EXPECT_EQ(comity_thread_resume(nullptr), EINVAL);
    EXPECT_EQ(comity_thread_suspend(), EPERM);
}

TEST_P(threads_that_wait, say_what_they_do) {
    comity_thread_t *t = create(
        [](void *p) {
            EXPECT_EQ(comity_thread_state(comity_thread_self()), COMITY_THREAD_RUNNING);
            ++steps;
            comity_thread_suspend();
            return p;
        },
        nullptr);
    let_others_run_until(1);
    while (comity_thread_state(t) != COMITY_THREAD_SUSPENDED) comity_thread_yield();
    EXPECT_EQ(comity_thread_resume(t), 0);
    EXPECT_EQ(comity_thread_wait(t, nullptr), 0);
    EXPECT_EQ(comity_thread_state(t), COMITY_THREAD_ENDED);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
}

TEST_P(threads_that_wait, are_cancelled_where_they_are_suspended) {
    comity_thread_t *t = create(
        [](void *p) {
            comity_cleanup_t a, b;
            EXPECT_EQ(comity_thread_cleanup_push(&a, add_step, &ten), 0);
            EXPECT_EQ(comity_thread_cleanup_push(&b, add_step, &hundred), 0);
            comity_thread_cleanup_pop(&b, 0);
            ++steps;
            comity_thread_suspend();
            ADD_FAILURE() << "it was cancelled";
            return p;
        },
        nullptr);
    let_others_run_until(1);
    EXPECT_EQ(comity_thread_cancel(t), 0);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, COMITY_THREAD_CANCELLED);
    EXPECT_EQ(steps, 11);
}

TEST_P(threads_that_wait, are_cancelled_where_they_test_for_it_and_where_they_join) {
    static std::atomic<comity_thread_t *> other;
    other = create(
        [](void *p) {
            comity_thread_suspend();
            return p;
        },
        nullptr);
    // else its joiner might run it, and wait for it without looking
    while (comity_thread_state(other) != COMITY_THREAD_SUSPENDED) comity_thread_yield();
    comity_thread_t *tests = create(
        [](void *) -> void * {
            ++steps;
            for (;;) {
                EXPECT_EQ(comity_thread_testcancel(), 0);
                comity_thread_yield();
            }
        },
        nullptr);
    comity_thread_t *joins = create(
        [](void *p) {
            ++steps;
            while (steps < 3) comity_thread_yield();
            EXPECT_EQ(comity_thread_join(other, nullptr), 0);
            ADD_FAILURE() << "it was cancelled";
            return p;
        },
        nullptr);
    let_others_run_until(2);
    EXPECT_EQ(comity_thread_cancel(tests), 0);
    EXPECT_EQ(comity_thread_cancel(joins), 0);
    ++steps;
    for (comity_thread_t *t : {tests, joins}) {
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(t, &result), 0);
        EXPECT_EQ(result, COMITY_THREAD_CANCELLED);
    }
    resume_when_suspended(other);
    EXPECT_EQ(comity_thread_join(other, nullptr), 0);
}

TEST_P(threads_that_wait, can_put_their_cancellation_off) {
    comity_thread_t *t = create(
        [](void *p) {
            EXPECT_EQ(comity_thread_set_cancel(0), 1);
            ++steps;
            EXPECT_EQ(comity_thread_suspend(), 0);
            EXPECT_EQ(comity_thread_testcancel(), 0);
            ++steps;
            EXPECT_EQ(comity_thread_set_cancel(1), 0);
            EXPECT_EQ(comity_thread_testcancel(), 0);
            ADD_FAILURE() << "it was cancelled";
            return p;
        },
        nullptr);
    let_others_run_until(1);
    while (comity_thread_state(t) != COMITY_THREAD_SUSPENDED) comity_thread_yield();
    EXPECT_EQ(comity_thread_cancel(t), 0);
    EXPECT_EQ(comity_thread_state(t), COMITY_THREAD_SUSPENDED);
    EXPECT_EQ(comity_thread_resume(t), 0);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, COMITY_THREAD_CANCELLED);
    EXPECT_EQ(steps, 2);
}

TEST_P(threads_that_wait, that_have_ended_cannot_be_cancelled) {
    comity_thread_t *t = create([](void *p) { return p; }, &steps);
    EXPECT_EQ(comity_thread_wait(t, nullptr), 0);
    EXPECT_EQ(comity_thread_cancel(t), ESRCH);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &steps);
    EXPECT_EQ(comity_thread_cancel(nullptr), EINVAL);
}

TEST_P(threads_that_wait, that_are_ending_are_not_resumed_by_a_request_to_cancel_them) {
    comity_thread_t *t = create(
        [](void *p) -> void * {
            comity_cleanup_t place;
            const auto waits = [](void *) {
                ++steps;
                EXPECT_EQ(comity_thread_suspend(), 0);
                ++steps;
            };
            EXPECT_EQ(comity_thread_cleanup_push(&place, waits, nullptr), 0);
            comity_thread_exit(p);
        },
        &steps);
    while (comity_thread_state(t) != COMITY_THREAD_SUSPENDED) comity_thread_yield();
    EXPECT_EQ(comity_thread_cancel(t), ESRCH);
    EXPECT_EQ(comity_thread_state(t), COMITY_THREAD_SUSPENDED);
    EXPECT_EQ(steps, 1);
    resume_when_suspended(t);
    void *result = nullptr;
    ASSERT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &steps);
    EXPECT_EQ(steps, 2);
}

TEST_P(threads_that_wait, exit_by_way_of_their_cleanup_handlers) {
    comity_thread_t *t = create(
        [](void *) -> void * {
            comity_cleanup_t a;
            comity_thread_cleanup_push(&a, add_step, &ten);
            comity_thread_yield();
            comity_thread_exit(&ten);
        },
        nullptr);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &ten);
    EXPECT_EQ(steps, 10);
}

TEST_F(thread_breadth_death, popping_another_cleanup_handler_than_the_newest_names_the_call) {
    EXPECT_DEATH(
        {
            comity_cleanup_t a{};
            comity_thread_cleanup_pop(&a, 0);
        },
        "comity_thread_cleanup_pop");
}

TEST_F(thread_breadth_death, a_stackless_thread_that_suspends_itself_ends_the_program) {
    EXPECT_DEATH(
        {
            comity_thread_attr_t attr{};
            attr.technique = COMITY_TECHNIQUE_STACKLESS;
            comity_thread_t *t = nullptr;
            comity_thread_create(
                &t, &attr,
                [](void *p) {
                    comity_thread_suspend();
                    return p;
                },
                nullptr);
            comity_thread_join(t, nullptr);
        },
        "a stackless thread");
}
