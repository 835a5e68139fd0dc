// Deadlines: sleeping, and the waits that end with one. The upper bounds are generous: no test judges speed.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <limits>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

// Runs f in a thread of Comity's, and in a kernel thread that holds no hart.
void in_both(const std::function<void()> &f) {
    std::thread(f).join();
    const comity::threads scope;
    comity::thread(f).join();
}

// How long f takes.
template <class F> steady::duration time_of(F f) {
    const auto from = steady::now();
    f();
    return steady::now() - from;
}

} // namespace

TEST(deadline, sums_saturate_and_the_past_has_passed) {
    EXPECT_EQ(comity_deadline_in(INT64_MAX), COMITY_NO_DEADLINE);
    EXPECT_GE(comity_deadline_in(-5), comity_now() - 1'000'000'000);
    EXPECT_EQ(comity::deadline_in(std::chrono::hours::max()), COMITY_NO_DEADLINE);
    EXPECT_EQ(comity::deadline_in(std::chrono::duration<double>(1e300)), COMITY_NO_DEADLINE);
    const auto passed = [](std::int64_t deadline) { return deadline <= comity_now(); };
    EXPECT_TRUE(passed(comity::deadline_in(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()))));
    EXPECT_TRUE(passed(comity::deadline_in(std::chrono::hours::min())));
    EXPECT_TRUE(passed(comity::deadline_at(std::chrono::system_clock::time_point::min())));
    EXPECT_EQ(comity::deadline_at(steady::time_point::max()), comity::deadline_in(steady::duration::max()));
    EXPECT_NEAR(static_cast<double>(comity::deadline_at(std::chrono::system_clock::now() + 10s) - comity_now()), 10e9,
                5e9);
}

TEST(sleep, lasts_at_least_as_long_as_told) {
    in_both([] {
        EXPECT_GE(time_of([] { comity::this_thread::sleep_for(20ms); }), 20ms);
        const auto until = std::chrono::system_clock::now() + 5ms;
        comity::this_thread::sleep_until(until);
        EXPECT_GE(std::chrono::system_clock::now(), until);
        comity::this_thread::sleep_for(-1h);
        comity_thread_sleep_for(0);
        comity_thread_sleep_until(INT64_MIN);
    });
}

TEST(sleep, leaves_the_hart_to_others) {
    const comity::threads scope;
    const auto took = time_of([] {
        std::vector<comity::thread> sleepers;
        for (int i = 0; i < 200; ++i)
            sleepers.emplace_back(
                [i] { comity::this_thread::sleep_for(20ms + std::chrono::microseconds(i * 37 % 1000)); });
    });
    EXPECT_LT(took, 2s); // 4 s, one after the other
}

TEST(timed_mutex, gives_up_at_its_deadline) {
    comity::mutex m;
    m.lock();
    in_both([&m] {
        EXPECT_GE(time_of([&m] { EXPECT_FALSE(m.try_lock_for(10ms)); }), 10ms);
        EXPECT_FALSE(m.try_lock_until(steady::now() - 1s));
    });
    m.unlock();
    in_both([&m] {
        EXPECT_TRUE(m.try_lock_for(-1s)); // what is to be had at once is taken
        m.unlock();
    });
}

TEST(timed_mutex, is_got_when_it_becomes_free) {
    comity::mutex m;
    in_both([&m] {
        m.lock();
        std::thread frees([&m] {
            std::this_thread::sleep_for(10ms);
            m.unlock();
        });
        EXPECT_TRUE(m.try_lock_for(1min));
        m.unlock();
        frees.join();
    });
}

TEST(timed_condition, tells_a_time_out_from_a_signal) {
    comity::mutex m;
    comity::condition c;
    in_both([&] {
        std::unique_lock lock(m);
        EXPECT_GE(time_of([&] { EXPECT_EQ(c.wait_for(lock, 10ms), std::cv_status::timeout); }), 10ms);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_FALSE(c.wait_for(lock, 5ms, [] { return false; }));
        bool ready = false; // under m
        std::thread signals([&] {
            const std::lock_guard other(m);
            ready = true;
            c.notify_all();
        });
        EXPECT_TRUE(c.wait_until(lock, steady::now() + 1min, [&ready] { return ready; }));
        lock.unlock();
        signals.join();
    });
}

TEST(condition, works_with_a_lock_of_any_kind) {
    comity::rwlock l;
    comity::condition c;
    bool ready = false; // under l
    const comity::threads scope;
    comity::thread waits([&] {
        std::shared_lock lock(l);
        c.wait(lock, [&ready] { return ready; });
    });
    for (int i = 0; i < 3; ++i) comity::this_thread::yield();
    {
        const std::lock_guard lock(l);
        ready = true;
    }
    c.notify_all();
    waits.join();
}

TEST(condition, a_stop_request_ends_the_wait) {
    comity::mutex m;
    comity::condition c;
    in_both([&] {
        std::stop_source stop;
        std::thread stops([&stop] {
            std::this_thread::sleep_for(10ms);
            stop.request_stop();
        });
        std::unique_lock lock(m);
        EXPECT_FALSE(c.wait(lock, stop.get_token(), [] { return false; }));
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_FALSE(c.wait_for(lock, stop.get_token(), 1h, [] { return false; }));
        EXPECT_FALSE(c.wait_for(lock, std::stop_token(), 5ms, [] { return false; }));
        EXPECT_TRUE(c.wait(lock, stop.get_token(), [] { return true; }));
        stops.join();
    });
}

TEST(timed_semaphore, gives_up_at_its_deadline_and_takes_what_there_is) {
    comity::semaphore s(0);
    in_both([&s] {
        EXPECT_FALSE(s.try_acquire());
        EXPECT_GE(time_of([&s] { EXPECT_FALSE(s.try_acquire_for(10ms)); }), 10ms);
        s.release(2);
        EXPECT_TRUE(s.try_acquire_until(steady::now() - 1s));
        s.acquire();
        std::thread posts([&s] {
            std::this_thread::sleep_for(10ms);
            s.release();
        });
        EXPECT_TRUE(s.try_acquire_for(1min));
        posts.join();
    });
}

TEST(rwlock, readers_share_it_and_a_writer_has_it_alone) {
    comity::rwlock l;
    {
        const std::shared_lock one(l), two(l);
        EXPECT_TRUE(l.try_lock_shared());
        l.unlock_shared();
        EXPECT_FALSE(l.try_lock());
        in_both([&l] { EXPECT_GE(time_of([&l] { EXPECT_FALSE(l.try_lock_for(10ms)); }), 10ms); });
        EXPECT_TRUE(l.try_lock_shared()); // the writer has given up: readers come in again
        l.unlock_shared();
    }
    const std::lock_guard alone(l);
    EXPECT_FALSE(l.try_lock_shared());
    EXPECT_FALSE(l.try_lock());
    in_both([&l] {
        EXPECT_FALSE(l.try_lock_shared_until(steady::now() + 5ms));
        EXPECT_FALSE(l.try_lock_until(std::chrono::system_clock::now() - 1h));
    });
}

TEST(rwlock, readers_who_stood_behind_a_writer_that_gave_up_come_in) {
    const comity::threads scope;
    comity::rwlock l;
    l.lock_shared();
    comity::thread writer([&l] { EXPECT_FALSE(l.try_lock_for(20ms)); });
    for (int i = 0; i < 3; ++i) comity::this_thread::yield();
    comity::thread reader([&l] {
        l.lock_shared(); // behind the writer, or after it
        l.unlock_shared();
    });
    writer.join();
    l.unlock_shared();
    reader.join();
    EXPECT_TRUE(l.try_lock());
    l.unlock();
}

TEST(rwlock, readers_stand_behind_a_writer_that_waits) {
    const comity::threads scope;
    comity::rwlock l;
    l.lock_shared();
    comity::thread writer([&l] {
        l.lock();
        l.unlock();
    });
    while (l.try_lock_shared()) { // until it waits
        l.unlock_shared();
        comity::this_thread::yield();
    }
    l.unlock_shared();
    writer.join();
}

TEST(barrier, its_number_may_change) {
    const comity::threads scope;
    comity::barrier b(3);
    std::atomic<int> passed{0};
    std::vector<comity::thread> waiters;
    for (int i = 0; i < 2; ++i)
        waiters.emplace_back([&] {
            b.wait();
            ++passed;
        });
    for (int i = 0; i < 5; ++i) comity::this_thread::yield();
    EXPECT_EQ(passed, 0);
    b.resize(2); // two are there
    waiters.clear();
    EXPECT_EQ(passed, 2);
    b.resize(1);
    EXPECT_TRUE(b.wait());
    EXPECT_THROW(b.resize(0), std::invalid_argument);
    EXPECT_THROW(b.resize(comity::barrier::max() + 1), std::invalid_argument);
}

TEST(barrier, who_drops_out_is_not_waited_for) {
    const comity::threads scope;
    comity::barrier b(2);
    comity::thread leaves([&b] {
        b.wait();
        b.arrive_and_drop();
    });
    b.wait();
    b.wait(); // with the drop
    EXPECT_TRUE(b.wait());
    const auto phase = b.arrive();
    b.wait(phase); // over already
}

TEST(barrier, waiting_for_a_phase_may_end_before_it) {
    comity_barrier_t b;
    ASSERT_EQ(comity_barrier_init(&b, 2), 0);
    in_both([&b] {
        const unsigned phase = comity_barrier_arrive(&b);
        EXPECT_EQ(comity_barrier_wait_phase(&b, phase, comity_deadline_in(5'000'000)), ETIMEDOUT);
        EXPECT_EQ(comity_barrier_wait(&b), 1);
        EXPECT_EQ(comity_barrier_wait_phase(&b, phase, 0), 0);
    });
    comity_barrier_fini(&b);
}

TEST(latch, opens_at_zero_and_stays_open) {
    const comity::threads scope;
    comity::latch l(3);
    EXPECT_FALSE(l.try_wait());
    in_both([&l] { EXPECT_FALSE(l.wait_for(5ms)); });
    EXPECT_THROW(l.count_down(4), std::invalid_argument);
    l.count_down(2);
    comity::thread last([&l] { l.arrive_and_wait(); });
    l.wait();
    EXPECT_TRUE(l.wait_until(steady::now() - 1s));
    EXPECT_THROW(l.count_down(), std::invalid_argument);
}

TEST(event, waits_no_longer_than_told) {
    comity::event e;
    in_both([&e] { EXPECT_GE(time_of([&e] { EXPECT_FALSE(e.wait_for(10ms)); }), 10ms); });
    e.set();
    in_both([&e] { EXPECT_TRUE(e.wait_until(steady::time_point::min())); });
}

TEST(once, is_done_once_and_again_only_after_it_threw) {
    const comity::threads scope;
    comity::once_flag flag;
    std::atomic<int> tried{0}, failed{0};
    {
        comity::thread all[8];
        for (auto &t : all)
            t = comity::thread([&] {
                try {
                    comity::call_once(flag, [&tried] {
                        const bool first = ++tried == 1;
                        comity::this_thread::yield(); // the others wait
                        if (first) throw std::runtime_error("not yet");
                    });
                } catch (const std::runtime_error &) {
                    ++failed;
                }
            });
    }
    EXPECT_EQ(tried, 2);
    EXPECT_EQ(failed, 1);
}

TEST(recursive_mutex, its_owner_locks_it_as_often_as_it_wants) {
    comity::recursive_mutex m;
    m.lock();
    EXPECT_TRUE(m.try_lock());
    EXPECT_TRUE(m.try_lock_for(0s));
    in_both([&m] {
        EXPECT_FALSE(m.try_lock());
        EXPECT_FALSE(m.try_lock_until(steady::now() + 5ms));
        EXPECT_THROW(m.unlock(), std::system_error);
    });
    for (int i = 0; i < 3; ++i) m.unlock();
    EXPECT_THROW(m.unlock(), std::system_error);
    in_both([&m] {
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    });
}
