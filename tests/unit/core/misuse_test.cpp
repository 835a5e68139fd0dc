// A broken contract ends the program with a line that names the call.
#include "test_scheduler.hpp"

#include <gtest/gtest.h>

namespace {

class misuse_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// A scheduler whose callbacks can be replaced by wrong ones.
struct wrong_scheduler : test_scheduler {
    bool block_returns = false, enter_returns = false;
    void on_block(comity_context_t *c) override {
        if (!block_returns) test_scheduler::on_block(c);
    }
    void on_enter() override {
        if (!enter_returns) test_scheduler::on_enter();
    }
};

void block_for_ever() {
    comity::pause([](comity_context_t *c) { comity_context_block(c); });
}

void on_transition(void (*fn)(comity_context_t *, void *)) {
    test_scheduler s;
    s.register_here();
    comity_context_pause(fn, &s);
}

} // namespace

TEST_F(misuse_death, a_block_callback_that_returns) {
    EXPECT_DEATH(
        {
            wrong_scheduler s;
            s.block_returns = true;
            s.register_here();
            block_for_ever();
        },
        "block.*transfer callback returned");
}

TEST_F(misuse_death, an_enter_callback_that_returns) {
    EXPECT_DEATH(
        {
            wrong_scheduler s;
            s.enter_returns = true;
            s.register_here();
            s.request_for_this(1);
            block_for_ever();
        },
        "enter.*transfer callback returned");
}

TEST_F(misuse_death, a_yield_callback_that_returns) {
    struct returns_from_yield : test_scheduler {
        void on_yield(comity_sched_t *) override {}
    };
    EXPECT_DEATH(
        {
            returns_from_yield s;
            s.register_here();
            s.start([] {
                test_scheduler inner;
                inner.register_here();
                block_for_ever(); // the inner one has nothing to do and yields
            });
            s.wait_for_all();
        },
        "yield.*transfer callback returned");
}

// The base scheduler itself cannot be reached: its callbacks never leave a hart to the program.
TEST_F(misuse_death, yielding_where_there_is_no_hart) { EXPECT_DEATH(comity_sched_yield(), "comity_sched_yield"); }

TEST_F(misuse_death, yielding_on_an_ordinary_context) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            comity_sched_yield();
        },
        "comity_sched_yield.*ordinary context");
}

TEST_F(misuse_death, unregistering_twice) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            comity_sched_unregister();
            comity_sched_unregister();
        },
        "comity_sched_unregister");
}

TEST_F(misuse_death, unregistering_in_another_context) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            s.start([] { comity_sched_unregister(); });
            s.wait_for_all();
        },
        "comity_sched_unregister.*not registered by this context");
}

TEST_F(misuse_death, registering_twice) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            s.register_here();
        },
        "comity_sched_register.*already");
}

TEST_F(misuse_death, registering_without_a_callback) {
    EXPECT_DEATH(
        {
            comity_sched_t s{};
            const comity_sched_callbacks_t none{};
            comity_sched_register(&s, &none);
        },
        "comity_sched_register.*callbacks");
}

TEST_F(misuse_death, registering_on_a_transition_context) {
    EXPECT_DEATH(on_transition([](comity_context_t *, void *) {
                     test_scheduler inner;
                     inner.register_here();
                 }),
                 "comity_sched_register.*transition");
}

TEST_F(misuse_death, requesting_no_hart) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            comity_sched_request(0);
        },
        "comity_sched_request.*at least 1");
}

TEST_F(misuse_death, entering_what_is_no_child) {
    EXPECT_DEATH(on_transition([](comity_context_t *, void *) {
                     static test_scheduler stranger;
                     comity_sched_enter(stranger.handle());
                 }),
                 "comity_sched_enter.*child");
}

TEST_F(misuse_death, entering_on_an_ordinary_context) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            comity_sched_enter(s.handle());
        },
        "comity_sched_enter");
}

TEST_F(misuse_death, resuming_a_context_that_runs) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            static comity_context_t *runs;
            static std::atomic<bool> there;
            s.start([] {
                runs = comity_context_self();
                for (;;) there = true;
            });
            while (!there) {
            }
            comity::pause([](comity_context_t *) { comity_context_resume(runs); });
        },
        "comity_context_resume.*not paused");
}

TEST_F(misuse_death, a_pause_function_that_returns) {
    EXPECT_DEATH(on_transition([](comity_context_t *, void *) {}), "comity_context_pause.*returned");
}

TEST_F(misuse_death, a_context_function_that_returns) {
    EXPECT_DEATH(on_transition([](comity_context_t *, void *) {
                     comity_context_t *c = nullptr;
                     comity_context_init(&c, nullptr);
                     comity_context_run(
                         c, [](void *) {}, nullptr);
                 }),
                 "comity_context_run.*returned");
}

TEST_F(misuse_death, running_a_context_in_use) {
    EXPECT_DEATH(on_transition([](comity_context_t *c, void *) {
                     comity_context_run(
                         c, [](void *) {}, nullptr);
                 }),
                 "comity_context_run.*in use");
}

TEST_F(misuse_death, freeing_a_context_that_runs) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            comity_context_fini(comity_context_self());
        },
        "comity_context_fini");
}

TEST_F(misuse_death, exiting_the_context_of_a_thread_of_the_program) {
    EXPECT_DEATH(
        {
            test_scheduler s;
            s.register_here();
            comity_context_exit([](comity_context_t *, void *) {}, nullptr);
        },
        "comity_context_exit");
}

TEST_F(misuse_death, pausing_where_there_is_no_hart) {
    EXPECT_DEATH(comity_context_pause([](comity_context_t *, void *) {}, nullptr), "comity_context_pause.*no hart");
}
