// fork() with a scope open and threads in flight: what the child has of it.
#include "comity/scheduler.h"
#include "comity/sync.h"
#include "comity/thread.hpp"

#include "../sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

comity_event_t go_on = COMITY_EVENT_INIT;
std::atomic<int> ran{0};

void *waits(void *p) {
    comity_event_wait(&go_on);
    ++ran;
    return p;
}

// How the child ended: 0, or the exit status or signal that tells what went wrong.
template <class Child> int in_child(Child child) {
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(20); // a hang ends by a signal
        _exit(child());
    }
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

int makes_threads() {
    const comity::threads scope;
    std::atomic<int> n{0};
    std::vector<comity::thread> all;
    for (int i = 0; i < 100; ++i) all.emplace_back([&n] { ++n; });
    for (comity::thread &t : all) t.join();
    return n == 100 ? 0 : 1;
}

} // namespace

TEST(the_child_of_a_fork, can_open_scopes_whatever_its_parent_had_open) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "forked children are not for the sanitizers";
    const comity::threads scope;
    std::vector<comity_thread_t *> all(50);
    for (comity_thread_t *&t : all) ASSERT_EQ(comity_thread_create(&t, nullptr, waits, nullptr), 0);
    for (comity_thread_t *t : all)
        while (comity_thread_state(t) != COMITY_THREAD_PAUSED) comity_thread_yield();
    EXPECT_EQ(in_child(makes_threads), 0);
    comity_event_set(&go_on);
    for (comity_thread_t *t : all) EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    comity_event_reset(&go_on);
}

TEST(the_child_of_a_fork, has_the_threads_that_ran_nowhere) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "forked children are not for the sanitizers";
    const comity::threads scope;
    ran = 0;
    std::vector<comity_thread_t *> all(50);
    for (comity_thread_t *&t : all) ASSERT_EQ(comity_thread_create(&t, nullptr, waits, nullptr), 0);
    for (comity_thread_t *t : all)
        while (comity_thread_state(t) != COMITY_THREAD_PAUSED) comity_thread_yield();
    comity_thread_sleep_for(20'000'000); // the other harts have gone
    const auto finish = [&all] {
        comity_event_set(&go_on);
        for (comity_thread_t *t : all)
            if (comity_thread_join(t, nullptr) != 0) return 2;
        return ran == 50 ? 0 : 3;
    };
    EXPECT_EQ(in_child(finish), 0);
    EXPECT_EQ(finish(), 0);
    comity_event_reset(&go_on);
}

// The harts that ran them are still in the scope at the fork, most of the time: the child has none of these.
TEST(the_child_of_a_fork, ends_the_scope_whose_threads_were_all_joined) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "forked children are not for the sanitizers";
    for (const comity_scheduler_kind_t kind :
         {COMITY_SCHEDULER_WORK_STEALING, COMITY_SCHEDULER_FIFO, COMITY_SCHEDULER_RANDOM}) {
        comity_scheduler_attr_t with{};
        with.kind = kind;
        for (int i = 0; i < 20; ++i) {
            ASSERT_EQ(comity_threads_begin_with(&with), 0);
            std::vector<comity_thread_t *> all(64);
            for (comity_thread_t *&t : all)
                ASSERT_EQ(comity_thread_create(
                              &t, nullptr, [](void *p) { return p; }, nullptr),
                          0);
            for (comity_thread_t *t : all) ASSERT_EQ(comity_thread_join(t, nullptr), 0);
            const auto go_on_and_end = [] {
                std::atomic<int> n{0};
                std::vector<comity::thread> more; // of the same scope
                for (int j = 0; j < 100; ++j) more.emplace_back([&n] { ++n; });
                for (comity::thread &t : more) t.join();
                comity_threads_end();
                return n == 100 ? makes_threads() : 2;
            };
            ASSERT_EQ(in_child([] {
                          comity_threads_end();
                          return 0;
                      }),
                      0)
                << "child " << i << " of kind " << kind;
            ASSERT_EQ(in_child(go_on_and_end), 0) << "child " << i << " of kind " << kind;
            comity_threads_end();
        }
    }
}
