// What callbacks of a scheduler may wait for: a mutex, whoever has it for a moment; nothing else. The same tests run a
// second time where the locks of <mutex> are Comity's (the threads drop-in).
#include "comity/core.hpp"
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

// A scheduler that does nothing but what a test says.
struct plain_scheduler : comity::scheduler {
    void on_enter() override { yield_to_parent(); }
    void on_yield(comity_sched_t *) override { yield_to_parent(); }
    void on_block(comity_context_t *) override { yield_to_parent(); }
    void on_unblock(comity_context_t *) override {}
    [[noreturn]] static void leave() { yield_to_parent(); }
};

void spin_until(const std::atomic<bool> &flag) {
    while (!flag) std::this_thread::yield();
}
// Long enough for who waits to do all that it does at first.
void hold_for_a_moment() {
    const std::int64_t until = comity_now() + 5'000'000;
    while (comity_now() < until) {
    }
}

template <class Mutex> struct callbacks : testing::Test {};
using mutexes = testing::Types<std::mutex, std::recursive_mutex, std::timed_mutex, std::shared_timed_mutex,
                               comity::mutex, comity::recursive_mutex>;
TYPED_TEST_SUITE(callbacks, mutexes, );

template <class Mutex> struct locks_in_enter : plain_scheduler {
    Mutex m;
    std::atomic<bool> is_in{false}, was_locked{false};
    void on_enter() override {
        if (!is_in.exchange(true)) {
            const std::lock_guard lock(m);
            was_locked = true;
        }
        leave();
    }
};

} // namespace

TYPED_TEST(callbacks, wait_for_a_mutex_where_they_are_given_a_hart) {
    if (comity::hart_count() == 1) GTEST_SKIP() << "the test has the only hart";
    locks_in_enter<TypeParam> s;
    s.register_here();
    {
        const std::lock_guard lock(s.m);
        s.request_for_this(1);
        spin_until(s.is_in);
        hold_for_a_moment();
        EXPECT_FALSE(s.was_locked);
    }
    spin_until(s.was_locked);
    comity::scheduler::unregister();
}

// Are std::thread's threads those of the threads drop-in?
bool threads_are_comitys() {
    const char *preloaded = std::getenv("LD_PRELOAD");
    return preloaded && std::strstr(preloaded, "libcomity_threads");
}

TYPED_TEST(callbacks, wait_for_a_mutex_where_they_borrow_a_hart) {
    if (threads_are_comitys() && comity::hart_count() == 1) GTEST_SKIP() << "the holder yields: it needs a hart";
    struct locks_in_request : plain_scheduler {
        TypeParam m;
        std::atomic<bool> is_in{false};
        comity_context_t *locked_by = nullptr;
        void on_request(comity_sched_t *, int) override {
            is_in = true;
            const std::lock_guard lock(m);
            locked_by = comity_context_self();
        }
    } s;
    std::atomic<bool> is_locked{false};
    std::thread other([&] {
        const std::lock_guard lock(s.m);
        is_locked = true;
        spin_until(s.is_in);
        hold_for_a_moment();
    });
    spin_until(is_locked);
    s.register_here();
    plain_scheduler child;
    child.register_here();
    comity_context_t *const self = comity_context_self();
    child.request_for_this(1);
    EXPECT_EQ(s.locked_by, self);
    comity::scheduler::unregister();
    comity::scheduler::unregister();
    other.join();
}

// A thread yields with the mutex, and is ready behind the context that calls the callback: another hart takes it up.
TEST(callbacks_of_a_context, wait_for_a_mutex_whose_holder_is_ready_on_their_hart) {
    if (comity::hart_count() == 1) GTEST_SKIP() << "the holder yields: it needs a hart";
    struct locks_in_request : plain_scheduler {
        comity::mutex m;
        std::atomic<bool> is_in{false}, was_locked{false};
        void on_request(comity_sched_t *, int) override {
            is_in = true;
            const std::lock_guard lock(m);
            was_locked = true;
        }
    };
    for (int round = 0; round < 20; ++round) {
        locks_in_request s;
        std::atomic<bool> is_locked{false};
        const comity::threads scope;
        comity::thread holder([&] {
            const std::lock_guard lock(s.m);
            is_locked = true;
            while (!s.is_in) comity::this_thread::yield();
        });
        while (!is_locked) comity::this_thread::yield();
        s.register_here();
        plain_scheduler child;
        child.register_here();
        child.request_for_this(1);
        EXPECT_TRUE(s.was_locked);
        comity::scheduler::unregister();
        comity::scheduler::unregister();
        holder.join();
    }
}

// The contexts of the scheduler wait for the mutex that its callbacks take. One that has waited for long gets it handed
// over, and goes on when a callback has found it.
TYPED_TEST(callbacks, take_a_mutex_for_which_contexts_of_their_scheduler_wait) {
    struct fifo : plain_scheduler {
        TypeParam m;
        std::vector<comity_context_t *> ready; // under m
        std::atomic<int> left{200};
        void on_enter() override { next(); }
        void on_yield(comity_sched_t *) override { next(); }
        void on_block(comity_context_t *) override { next(); }
        void on_unblock(comity_context_t *c) override {
            {
                const std::lock_guard lock(m);
                ready.push_back(c);
            }
            request_for_this(1);
        }
        [[noreturn]] void next() {
            comity_context_t *c = nullptr;
            {
                const std::lock_guard lock(m);
                if (!ready.empty()) {
                    c = ready.front();
                    ready.erase(ready.begin());
                }
            }
            if (c) comity_context_resume(c);
            leave();
        }
        void turn() {
            comity::pause([this](comity_context_t *c) {
                {
                    const std::lock_guard lock(m);
                    ready.push_back(c);
                }
                next();
            });
        }
        static void work(void *self) {
            auto *s = static_cast<fifo *>(self);
            for (int i = 0; i < 20; ++i) {
                {
                    const std::lock_guard lock(s->m);
                    --s->left;
                    const std::int64_t until = comity_now() + 20'000;
                    while (comity_now() < until) {
                    }
                }
                s->turn();
            }
            comity_context_exit([](comity_context_t *, void *s) { static_cast<fifo *>(s)->next(); }, s);
        }
    } s;
    s.register_here();
    std::vector<comity::context> contexts;
    for (int i = 0; i < 10; ++i) contexts.emplace_back(comity_context_attr_t{0, 1});
    for (comity::context &own : contexts) {
        struct start {
            comity_context_t *which;
            fifo *s;
        } what{own.handle(), &s};
        comity::pause([what](comity_context_t *self) {
            {
                const std::lock_guard lock(what.s->m);
                what.s->ready.push_back(self);
            }
            comity_context_run(what.which, fifo::work, what.s);
        });
    }
    s.request_for_this(comity::hart_count());
    while (s.left > 0) s.turn();
    comity::scheduler::unregister();
    EXPECT_EQ(s.left, 0);
}

namespace {

class callbacks_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

comity::event never;

} // namespace

TEST_F(callbacks_death, that_wait_for_something_else_are_named_with_the_call) {
    EXPECT_DEATH(
        {
            struct waits_in_enter : plain_scheduler {
                void on_enter() override { never.wait(); }
            } s;
            s.register_here();
            s.request_for_this(1);
            for (;;) std::this_thread::yield();
        },
        "comity: comity_event_wait: the callback `enter` of a scheduler would have to wait");
    EXPECT_DEATH(
        {
            struct waits_in_request : plain_scheduler {
                void on_request(comity_sched_t *, int) override {
                    comity::semaphore s(0);
                    s.acquire();
                }
            } s;
            s.register_here();
            plain_scheduler child;
            child.register_here();
            child.request_for_this(1);
        },
        "comity: comity_semaphore_(timed)?wait: the callback `request` of a scheduler would have to wait");
    EXPECT_DEATH(
        {
            plain_scheduler s;
            s.register_here();
            comity::pause([](comity_context_t *) { never.wait(); });
        },
        "comity: comity_event_wait: the callback `pause` of a scheduler would have to wait");
}

TEST_F(callbacks_death, and_a_stackless_thread_that_would_wait_names_its_call) {
    EXPECT_DEATH(
        {
            const comity::threads scope;
            comity::thread t({.technique = comity::technique::stackless}, [] { never.wait(); });
            t.join();
        },
        "comity: comity_event_wait: a stackless thread would have to wait");
}
