#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>

namespace {
double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
} // namespace

TEST(mutex, trylock_takes_it_only_when_it_is_free) {
    comity_mutex_t m = COMITY_MUTEX_INIT;
    EXPECT_EQ(comity_mutex_trylock(&m), 1);
    EXPECT_EQ(comity_mutex_trylock(&m), 0);
    comity_mutex_unlock(&m);
    EXPECT_EQ(comity_mutex_trylock(&m), 1);
    comity_mutex_unlock(&m);
    comity_mutex_fini(&m);
}

TEST(mutex, works_with_the_standard_locks) {
    comity::mutex a, b;
    {
        const std::scoped_lock both(a, b);
        EXPECT_FALSE(a.try_lock());
    }
    std::unique_lock lock(a);
    lock.unlock();
    EXPECT_TRUE(a.try_lock());
    a.unlock();
}

TEST(mutex, a_waiting_thread_leaves_its_hart_to_others) {
    const comity::threads scope;
    comity::mutex m;
    std::atomic<bool> other_ran{false};
    m.lock();
    comity::thread waits([&] {
        m.lock();
        m.unlock();
    });
    for (int i = 0; i < 3; ++i) comity::this_thread::yield(); // it waits by now
    comity::thread other([&] { other_ran = true; });
    other.join(); // with one hart: only if the waiter gave its hart away
    EXPECT_TRUE(other_ran);
    m.unlock();
    waits.join();
}

TEST(mutex, nobody_starves_while_another_locks_it_again_and_again) {
    const comity::threads scope;
    comity::mutex m;
    std::atomic<bool> got_it{false};
    comity::thread waits([&] {
        const std::lock_guard lock(m);
        got_it = true;
    });
    std::thread busy([&] { // a kernel thread: it gives nobody way
        while (!got_it) {
            const std::lock_guard lock(m);
            const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
            while (std::chrono::steady_clock::now() < until) {
            }
        }
    });
    waits.join();
    busy.join();
}

TEST(condition, wait_gives_the_mutex_away_and_takes_it_again) {
    const comity::threads scope;
    comity::mutex m;
    comity::condition c;
    bool ready = false; // under m
    comity::thread waits([&] {
        std::unique_lock lock(m);
        c.wait(lock, [&] { return ready; });
        EXPECT_FALSE(m.try_lock());
    });
    for (int i = 0; i < 3; ++i) comity::this_thread::yield();
    {
        const std::lock_guard lock(m);
        ready = true;
    }
    c.notify_one();
    waits.join();
}

TEST(barrier, of_nobody_is_an_error_and_of_one_never_waits) {
    comity_barrier_t b;
    EXPECT_EQ(comity_barrier_init(&b, 0), EINVAL);
    EXPECT_THROW(comity::barrier none(0), std::invalid_argument);
    comity::barrier one(1);
    EXPECT_TRUE(one.wait());
    EXPECT_TRUE(one.wait());
}

TEST(event, stays_set_until_it_is_reset) {
    comity::event e;
    EXPECT_FALSE(e.is_set());
    e.set();
    e.wait();
    e.wait();
    EXPECT_TRUE(e.is_set());
    e.reset();
    EXPECT_FALSE(e.is_set());
}

TEST(event, wakes_threads_from_a_kernel_thread_after_they_all_sleep) {
    const comity::threads scope;
    comity::event e;
    std::atomic<int> woken{0};
    std::thread setter([&e] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        e.set();
    });
    {
        comity::thread all[4];
        for (comity::thread &t : all)
            t = comity::thread([&] {
                e.wait();
                ++woken;
            });
    }
    setter.join();
    EXPECT_EQ(woken, 4);
}

TEST(event, waiting_costs_no_cpu_after_a_while) {
    const comity::threads scope;
    comity::event e;
    comity::thread waits([&e] { e.wait(); });
    std::thread setter([&e] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const double before = cpu_seconds();
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        EXPECT_LT(cpu_seconds() - before, 0.03);
        e.set();
    });
    waits.join();
    setter.join();
}
