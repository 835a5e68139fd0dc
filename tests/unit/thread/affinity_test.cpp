// Threads that run on some harts only.
#include "comity/scheduler.hpp"
#include "comity/sync.hpp"
#include "comity/thread.hpp"
#include "techniques.hpp"

#include <atomic>
#include <cerrno>
#include <ctime>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace {

int other_hart() { return (comity_hart_id() + 1) % comity_hart_count(); }

// What a thread with an affinity does that may take it elsewhere; counts where it is wrong.
struct wanderer {
    int hart;
    std::atomic<int> wrong{0}, steps{0};
    comity::mutex *lock = nullptr;
    comity_technique_t technique = COMITY_TECHNIQUE_DEFAULT;

    void look() {
        ++steps;
        if (comity_hart_id() != hart) ++wrong;
    }
    static void *nothing(void *) { return nullptr; }
    static void *wander(void *argument) {
        auto &w = *static_cast<wanderer *>(argument);
        w.look();
        for (int i = 0; i < 20; ++i) {
            comity_thread_yield();
            w.look();
            comity_thread_attr_t attr{};
            attr.technique = w.technique;
            comity_thread_t *child = nullptr;
            EXPECT_EQ(comity_thread_create(&child, &attr, nothing, nullptr), 0);
            w.look();
            comity_thread_yield();
            EXPECT_EQ(comity_thread_join(child, nullptr), 0);
            w.look();
            if (w.lock) {
                w.lock->lock();
                w.look();
                comity_thread_yield();
                w.lock->unlock();
                w.look();
            }
            if (i % 5 == 0) comity_thread_sleep_for(20'000);
            w.look();
        }
        return nullptr;
    }
};

comity_thread_t *create_on_hart(wanderer &w) {
    comity_thread_attr_t attr{};
    attr.technique = w.technique;
    attr.harts = &w.hart;
    attr.hart_count = 1;
    comity_thread_t *t = nullptr;
    EXPECT_EQ(comity_thread_create(&t, &attr, wanderer::wander, &w), 0);
    return t;
}

void expect_right(const wanderer &w) {
    EXPECT_EQ(w.wrong.load(), 0);
    EXPECT_GE(w.steps.load(), 81);
}

// Several on each hart, which meet at a lock.
void wander_on_all_harts(comity_technique_t technique) {
    comity::mutex lock;
    const int n = comity_hart_count();
    std::vector<wanderer> all(static_cast<std::size_t>(3 * n));
    std::vector<comity_thread_t *> threads;
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].hart = static_cast<int>(i) % n;
        all[i].lock = &lock;
        all[i].technique = technique;
        threads.push_back(create_on_hart(all[i]));
    }
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(comity_thread_join(threads[i], nullptr), 0);
    for (const wanderer &w : all) expect_right(w);
}

// A thread with an affinity never runs on its joiner's stack, where it could not go elsewhere.
comity::thread::attributes any_hart() {
    static const std::vector<int> all = [] {
        std::vector<int> v;
        for (int i = 0; i < comity_hart_count(); ++i) v.push_back(i);
        return v;
    }();
    return {.harts = all};
}

double process_cpu() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

} // namespace

class thread_affinity : public each_technique {};
INSTANTIATE_TEST_SUITE_P(each, thread_affinity, techniques_that_wait, technique_name);

TEST_P(thread_affinity, holds_wherever_the_thread_waits) {
    const comity::threads scope;
    wander_on_all_harts(GetParam());
}

TEST_P(thread_affinity, stays_when_a_thread_runs_again) {
    const comity::threads scope;
    wanderer w{other_hart()};
    w.technique = GetParam();
    comity_thread_t *t = create_on_hart(w);
    EXPECT_EQ(comity_thread_wait(t, nullptr), 0);
    EXPECT_EQ(comity_thread_revive(t, wanderer::wander, &w), 0);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    expect_right(w);
    EXPECT_GE(w.steps.load(), 162);
}

TEST(affinity, holds_in_the_first_scope_that_a_thread_opens_by_itself) {
    wanderer w{other_hart()};
    EXPECT_EQ(comity_thread_join(create_on_hart(w), nullptr), 0);
    expect_right(w);
}

TEST(affinity, holds_under_every_kind_of_scheduler_and_while_it_is_replaced) {
    for (const auto kind : {COMITY_SCHEDULER_FIFO, COMITY_SCHEDULER_LIFO, COMITY_SCHEDULER_PRIORITY,
                            COMITY_SCHEDULER_RANDOM, COMITY_SCHEDULER_WORK_STEALING}) {
        comity_scheduler_attr_t attr{};
        attr.kind = kind;
        ASSERT_EQ(comity_threads_begin_with(&attr), 0);
        wander_on_all_harts(COMITY_TECHNIQUE_DEFAULT);
        std::atomic<bool> over{false};
        comity::thread replacer([&over] {
            for (int i = 0; i < 200 && !over; ++i) {
                comity_scheduler_attr_t next{};
                next.kind = i % 2 ? COMITY_SCHEDULER_WORK_STEALING : COMITY_SCHEDULER_FIFO;
                EXPECT_EQ(comity_scheduler_replace(&next), 0);
                comity_thread_sleep_for(50'000);
            }
        });
        wander_on_all_harts(COMITY_TECHNIQUE_DEFAULT);
        over = true;
        replacer.join();
        comity_threads_end();
    }
}

TEST(affinity, threads_of_all_harts_come_to_their_turn_where_one_may_be_at_a_time) {
    comity_scheduler_attr_t attr{};
    attr.most_harts = 1;
    ASSERT_EQ(comity_threads_begin_with(&attr), 0);
    wander_on_all_harts(COMITY_TECHNIQUE_DEFAULT);
    comity_threads_end();
}

TEST(affinity, holds_in_a_scheduler_below_another) {
    const comity::threads outer;
    comity::thread([] {
        const comity::threads inner;
        wander_on_all_harts(COMITY_TECHNIQUE_DEFAULT);
    }).join();
}

TEST(affinity, of_several_harts_lets_each_of_them_run_the_thread) {
    const comity::threads scope;
    std::vector<comity::thread> threads;
    std::atomic<int> ran{0};
    for (int i = 0; i < 200; ++i)
        threads.emplace_back(any_hart(), [&ran] {
            comity_thread_yield();
            ++ran;
        });
    for (auto &t : threads) t.join();
    EXPECT_EQ(ran.load(), 200);
}

TEST(affinity, can_be_changed_by_the_thread_itself) {
    const comity::threads scope;
    comity::thread(any_hart(), [] {
        for (int i = 0; i < 50; ++i) {
            const int to = i % comity_hart_count();
            comity::this_thread::set_affinity({&to, 1});
            EXPECT_EQ(comity_hart_id(), to);
            comity_thread_yield();
            EXPECT_EQ(comity_hart_id(), to);
            int now = -1;
            std::size_t n = 0;
            EXPECT_EQ(comity_thread_affinity(comity_thread_self(), &now, 1, &n), 0);
            EXPECT_EQ(now, to);
            EXPECT_EQ(n, 1U);
            EXPECT_EQ(comity_thread_migrate(other_hart()), comity_hart_count() > 1 ? EINVAL : 0);
        }
        comity::this_thread::set_affinity({});
        EXPECT_EQ(comity_thread_migrate(other_hart()), 0);
        std::size_t n = 7;
        EXPECT_EQ(comity_thread_affinity(comity_thread_self(), nullptr, 0, &n), 0);
        EXPECT_EQ(n, 0U);
    }).join();
}

TEST(affinity, a_joiner_that_is_bound_goes_on_where_it_was) {
    const comity::threads scope;
    const int n = comity_hart_count();
    std::vector<comity::thread> joiners;
    for (int i = 0; i < n; ++i)
        joiners.emplace_back(comity::thread::attributes{.harts = {&i, 1}}, [i, n] {
            for (int j = 0; j < 50; ++j) {
                const int to = j % n;
                comity::thread bound(comity::thread::attributes{.harts = {&to, 1}}, [] { comity_thread_yield(); });
                comity::thread free([] { comity_thread_yield(); });
                free.join();
                EXPECT_EQ(comity_hart_id(), i);
                bound.join();
                EXPECT_EQ(comity_hart_id(), i);
            }
        });
    for (auto &t : joiners) t.join();
}

// The hart is with another root, which sleeps in the kernel with it: nobody can bring it, and nobody spins for it.
TEST(affinity, a_thread_waits_for_a_hart_that_is_elsewhere) {
    if (comity_hart_count() != 2) GTEST_SKIP();
    std::atomic<int> taken{-1};
    std::thread other([&taken] {
        const comity::threads scope;
        taken = comity_hart_id();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    });
    while (taken < 0) ::sched_yield();
    {
        const comity::threads scope;
        const int hart = taken;
        const double before = process_cpu();
        comity::thread t(comity::thread::attributes{.harts = {&hart, 1}},
                         [hart] { EXPECT_EQ(comity_hart_id(), hart); });
        t.join();
        EXPECT_LT(process_cpu() - before, 0.1) << "in 200 ms";
    }
    other.join();
}

TEST(affinity, that_cannot_be_is_an_error) {
    const comity::threads scope;
    const int wrong = comity_hart_count(), negative = -1, good = 0;
    const auto nothing = [](void *) -> void * { return nullptr; };
    comity_thread_t *t = nullptr;
    comity_thread_attr_t attr{};
    attr.hart_count = 1;
    for (const int *harts : {&wrong, &negative, static_cast<const int *>(nullptr)}) {
        attr.harts = harts;
        EXPECT_EQ(comity_thread_create(&t, &attr, nothing, nullptr), EINVAL);
        EXPECT_EQ(comity_thread_prepare(&t, &attr, nothing, nullptr), EINVAL);
    }
    attr.harts = &good;
    attr.technique = COMITY_TECHNIQUE_STACKLESS;
    EXPECT_EQ(comity_thread_create(&t, &attr, nothing, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_prepare(&t, &attr, nothing, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_set_affinity(&good, 1), EPERM) << "outside threads";
    EXPECT_EQ(comity_thread_affinity(nullptr, nullptr, 0, nullptr), EINVAL);
    comity::thread(any_hart(), [&] {
        EXPECT_EQ(comity_thread_set_affinity(&wrong, 1), EINVAL);
        EXPECT_EQ(comity_thread_set_affinity(nullptr, 1), EINVAL);
        std::vector<int> all;
        for (int i = 0; i < comity_hart_count(); ++i) all.push_back(i);
        EXPECT_EQ(comity_thread_set_affinity(all.data(), all.size()), 0);
        int one = -1;
        std::size_t n = 0;
        EXPECT_EQ(comity_thread_affinity(comity_thread_self(), nullptr, 1, &n), EINVAL);
        EXPECT_EQ(comity_thread_affinity(comity_thread_self(), &one, 1, &n), comity_hart_count() > 1 ? ERANGE : 0);
        EXPECT_EQ(n, all.size());
        EXPECT_EQ(one, 0);
    }).join();
}
