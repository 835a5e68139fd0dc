// Every function of comity/core.h, through a scheduler written on it.
#include "test_scheduler.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

TEST(tree, a_thread_outside_has_no_hart_no_scheduler_no_context) {
    std::thread([] {
        EXPECT_EQ(comity_hart_id(), -1);
        EXPECT_EQ(comity_sched_current(), nullptr);
        EXPECT_EQ(comity_context_self(), nullptr);
    }).join();
    EXPECT_EQ(comity_hart_count(), 2);
}

TEST(tree, register_makes_the_scheduler_current_and_gives_it_the_hart) {
    test_scheduler s;
    s.register_here();
    EXPECT_EQ(comity_sched_current(), s.handle());
    EXPECT_GE(comity_hart_id(), 0);
    EXPECT_LT(comity_hart_id(), comity_hart_count());
    EXPECT_NE(comity_context_self(), nullptr);
    comity::scheduler::unregister();
    EXPECT_EQ(comity_sched_current(), nullptr);
}

TEST(tree, a_requested_hart_enters_and_is_yielded_back) {
    test_scheduler s;
    s.register_here();
    std::atomic<bool> ran_elsewhere{false};
    const int own = comity_hart_id();
    s.start([&] { ran_elsewhere = comity_hart_id() != own; });
    while (!ran_elsewhere) // this hart stays busy: only another one can do it
        std::this_thread::yield();
    comity::scheduler::unregister(); // waits for that hart
    EXPECT_GE(s.seen.enter, 1);
}

TEST(tree, blocked_contexts_go_on_after_unblock_from_any_thread) {
    test_scheduler s;
    s.register_here();
    std::atomic<comity_context_t *> blocked{nullptr};
    std::atomic<bool> went_on{false};
    s.start([&] {
        comity::pause([&blocked](comity_context_t *c) {
            blocked = c;
            comity_context_block(c);
        });
        went_on = true;
    });
    std::thread other([&] {
        while (!blocked) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // by now the harts are idle
        comity_context_unblock(blocked);
    });
    s.wait_for_all();
    other.join();
    EXPECT_TRUE(went_on);
    EXPECT_GE(s.seen.block, 1);
    EXPECT_GE(s.seen.unblock, 1);
    comity::scheduler::unregister();
}

TEST(tree, contexts_keep_their_stacks_and_local_state_while_others_run) {
    test_scheduler s;
    s.register_here();
    std::atomic<int> right{0};
    for (int i = 0; i < 20; ++i)
        s.start([&, i] {
            int own = i;
            comity_context_set_local(comity_context_self(), &own);
            comity_context_t *const self = comity_context_self();
            for (int round = 0; round < 50; ++round) s.take_turns();
            right += own == i && self == comity_context_self() && comity_context_local(self) == &own;
        });
    s.wait_for_all();
    EXPECT_EQ(right, 20);
    comity::scheduler::unregister();
}

TEST(tree, a_nested_child_gets_harts_from_its_parent_and_returns_them) {
    test_scheduler outer;
    outer.register_here();
    std::atomic<int> ran{0};
    for (int i = 0; i < 4; ++i)
        outer.start([&] {
            test_scheduler inner;
            inner.register_here();
            EXPECT_EQ(comity_sched_current(), inner.handle());
            for (int n = 0; n < 10; ++n)
                inner.start([&] {
                    inner.take_turns();
                    ++ran;
                });
            inner.wait_for_all();
            comity::scheduler::unregister();
            EXPECT_EQ(comity_sched_current(), outer.handle());
        });
    outer.wait_for_all();
    EXPECT_EQ(ran, 40);
    EXPECT_EQ(outer.seen.registered, 4);
    EXPECT_EQ(outer.seen.unregistered, 4);
    EXPECT_GE(outer.seen.request, 4);
    comity::scheduler::unregister();
}

TEST(tree, several_foreign_threads_have_roots_of_their_own) {
    std::atomic<int> ran{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i)
        threads.emplace_back([&ran] {
            for (int round = 0; round < 20; ++round) {
                test_scheduler s;
                s.register_here();
                for (int n = 0; n < 5; ++n) s.start([&ran] { ++ran; });
                s.wait_for_all();
                comity::scheduler::unregister();
            }
        });
    for (std::thread &t : threads) t.join();
    EXPECT_EQ(ran, 500);
}

TEST(tree, unregister_waits_for_every_hart) {
    for (int round = 0; round < 200; ++round) {
        test_scheduler s; // on this stack: a hart that is still inside would be seen by the sanitizers, or crash
        s.register_here();
        for (int n = 0; n < 3; ++n) s.start([] {});
        s.wait_for_all();
        comity::scheduler::unregister();
    }
}

TEST(tree, contexts_are_made_and_freed_without_running) {
    comity_context_t *c = nullptr;
    ASSERT_EQ(comity_context_init(&c, nullptr), 0);
    comity_context_fini(c);
    const comity_context_attr_t full{0, 1};
    ASSERT_EQ(comity_context_init(&c, &full), 0);
    comity_context_fini(c);
    const comity_context_attr_t too_large{std::size_t{1} << 50, 0};
    EXPECT_EQ(comity_context_init(&c, &too_large), ENOMEM);
}

TEST(tree, exit_gives_the_context_back_to_be_run_again) {
    test_scheduler s;
    s.register_here();
    struct state {
        comity_context_t *context, *main;
        int runs = 0;
        static void body(void *p) {
            ++static_cast<state *>(p)->runs;
            comity_context_exit(
                [](comity_context_t *c, void *q) {
                    auto *self = static_cast<state *>(q);
                    if (self->runs < 3) comity_context_run(c, body, q);
                    comity_context_resume(self->main);
                },
                p);
        }
    } st{nullptr, comity_context_self()};
    ASSERT_EQ(comity_context_init(&st.context, nullptr), 0);
    comity_context_pause(
        [](comity_context_t *, void *p) { comity_context_run(static_cast<state *>(p)->context, state::body, p); }, &st);
    EXPECT_EQ(st.runs, 3);
    comity_context_fini(st.context);
    comity::scheduler::unregister();
}
