// Deadlines that pass while others wake, and the objects beyond mutex, condition, barrier and event.
#include "comity/sync.hpp"
#include "comity/sync/future.hpp"
#include "in_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <shared_mutex>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct random_time {
    std::minstd_rand random;
    explicit random_time(int seed) : random(static_cast<unsigned>(seed) + 1) {}
    std::chrono::microseconds operator()(unsigned most) { return std::chrono::microseconds(random() % most); }
};

// Every third round with a hold that outlasts the others' patience.
void hold(int round) {
    if (round % 3 == 0) comity::this_thread::yield();
    if (round % 50 == 0) comity::this_thread::sleep_for(100us);
}

} // namespace

TEST(timed_mutex, those_who_give_up_take_nothing_with_them) {
    comity::mutex m;
    long count = 0; // under m
    std::atomic<long> got{0}, gave_up{0};
    in_threads(10, 3, [&](int i) {
        random_time patience(i);
        for (int n = 0; n < 800; ++n) {
            if (!m.try_lock_for(patience(80))) {
                ++gave_up;
                continue;
            }
            const long before = count;
            hold(n);
            count = before + 1;
            m.unlock();
            ++got;
        }
        m.lock(); // nobody is left behind
        m.unlock();
    });
    EXPECT_EQ(count, got);
    EXPECT_EQ(got + gave_up, 13 * 800);
}

TEST(timed_condition, a_signal_is_not_lost_in_a_time_out) {
    comity::mutex m;
    comity::condition c;
    int tickets = 0; // under m
    constexpr int all = 6, rounds = 400;
    in_threads(2 * all - 2, 2, [&](int i) {
        random_time patience(i);
        for (int n = 0; n < rounds; ++n) {
            std::unique_lock lock(m);
            if (i % 2 == 0) {
                ++tickets;
                lock.unlock();
                c.notify_one();
                if (n % 16 == 0) comity::this_thread::yield();
            } else {
                while (!c.wait_for(lock, patience(200), [&] { return tickets > 0; })) {
                }
                --tickets;
            }
        }
    });
    EXPECT_EQ(tickets, 0);
}

TEST(semaphore, never_lets_more_in_than_it_counts_and_loses_none) {
    constexpr unsigned places = 3;
    comity::semaphore s(places);
    std::atomic<unsigned> inside{0}, most{0};
    in_threads(10, 3, [&](int i) {
        random_time patience(i);
        for (int n = 0; n < 800; ++n) {
            if (i % 2 == 0)
                s.acquire();
            else if (!s.try_acquire_for(patience(50)))
                continue;
            const unsigned now = ++inside;
            unsigned before = most;
            while (before < now && !most.compare_exchange_weak(before, now)) {
            }
            hold(n);
            --inside;
            s.release();
        }
    });
    EXPECT_LE(most, places);
    for (unsigned i = 0; i < places; ++i) EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

TEST(semaphore, passes_turns_between_two) {
    comity::semaphore there(0), back(0);
    in_threads(1, 1, [&](int i) {
        for (int n = 0; n < 300; ++n) {
            (i == 0 ? there : back).release();
            (i == 0 ? back : there).acquire();
        }
    });
    EXPECT_FALSE(there.try_acquire());
}

TEST(semaphore, may_be_destroyed_by_who_acquires) {
    const comity::threads scope;
    for (int i = 0; i < 2000; ++i) {
        auto s = std::make_unique<comity::semaphore>(0);
        comity::thread posts([&s = *s] { s.release(); });
        s->acquire();
        s.reset();
    }
}

TEST(rwlock, writers_are_alone_and_readers_see_whole_writes) {
    comity::rwlock l;
    long a = 0, b = 0; // under l
    std::atomic<long> wrong{0}, written{0};
    in_threads(10, 3, [&](int i) {
        random_time patience(i);
        for (int n = 0; n < 600; ++n) {
            const bool timed = n % 4 == 0;
            if (n % 5 == i % 5) {
                if (timed ? !l.try_lock_for(patience(60)) : (l.lock(), false)) continue;
                const long before = a;
                a = before + 1;
                hold(n);
                b = before + 1;
                ++written;
                l.unlock();
            } else {
                if (timed ? !l.try_lock_shared_for(patience(60)) : (l.lock_shared(), false)) continue;
                const long seen = a;
                hold(n);
                wrong += seen != b;
                l.unlock_shared();
            }
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(a, written);
    EXPECT_TRUE(l.try_lock());
    l.unlock();
}

TEST(barrier, goes_on_while_members_drop_out) {
    constexpr int all = 12;
    comity::barrier b(all);
    std::vector<std::atomic<int>> at(all);
    std::atomic<int> wrong{0};
    in_threads(all - 2, 2, [&](int i) {
        const int last = 40 * (i + 1); // each leaves in another round
        for (int n = 1; n <= last; ++n) {
            at[static_cast<std::size_t>(i)] = n;
            if (n == last) {
                at[static_cast<std::size_t>(i)] = 1'000'000;
                b.arrive_and_drop();
                break;
            }
            b.wait();
            for (const auto &other : at) wrong += other < n;
        }
    });
    EXPECT_EQ(wrong, 0);
}

// Who comes before a full phase is settled belongs to the next one. The last to come may have nobody to meet.
TEST(barrier, one_too_many_waits_for_the_next_phase) {
    std::atomic<int> wrong{0};
    for (int round = 0; round < 100; ++round) {
        comity_barrier_t b;
        ASSERT_EQ(comity_barrier_init(&b, 2), 0);
        std::atomic<unsigned> arrivals{0};
        in_threads(4, 2, [&](int) {
            for (int n = 0; n < 12; ++n) {
                ++arrivals;
                const unsigned phase = comity_barrier_arrive(&b);
                if (comity_barrier_wait_phase(&b, phase, comity_deadline_in(5'000'000)) != 0) break;
                wrong += arrivals < 2 * (phase + 1);
            }
        });
        comity_barrier_fini(&b);
    }
    EXPECT_EQ(wrong, 0);
}

TEST(barrier, opens_when_its_number_falls_to_those_who_are_there) {
    for (int round = 0; round < 300; ++round) {
        comity::barrier b(8);
        std::atomic<int> passed{0};
        in_threads(5, 1, [&](int i) {
            if (i == 0) {
                comity::this_thread::yield();
                b.resize(5); // the others are five
                return;
            }
            b.wait();
            ++passed;
        });
        ASSERT_EQ(passed, 5);
    }
}

TEST(latch, may_be_destroyed_by_who_waited) {
    const comity::threads scope;
    for (int i = 0; i < 1000; ++i) {
        auto l = std::make_unique<comity::latch>(2);
        comity::thread one([&l = *l] { l.count_down(); }), two([&l = *l] { l.count_down(); });
        l->wait();
        l.reset();
    }
}

TEST(once, is_done_by_one_while_all_others_wait) {
    for (int round = 0; round < 200; ++round) {
        comity::once_flag flag;
        int value = 0, tries = 0;
        std::atomic<int> wrong{0};
        in_threads(6, 2, [&](int) {
            for (;;) {
                try {
                    comity::call_once(flag, [&] {
                        if (++tries < 3) throw 1;
                        comity::this_thread::yield();
                        value = 7;
                    });
                    break;
                } catch (int) {
                }
            }
            wrong += value != 7;
        });
        ASSERT_EQ(wrong, 0);
        ASSERT_EQ(tries, 3);
    }
}

TEST(future, continuations_and_waiters_all_see_the_value) {
    for (int round = 0; round < 400; ++round) {
        comity::promise<int> p;
        comity::eventual<int> e;
        std::atomic<int> sum{0};
        auto f = p.get_future();
        comity::future<void> chain;
        in_threads(4, 1, [&](int i) {
            switch (i) {
            case 0:
                p.set_value(1);
                break;
            case 1:
                chain = f.then([](int n) { return n + 1; }).then([&e](int n) { e.set(n); });
                break;
            default:
                if (i == 2)
                    while (!e.wait_for(20us)) {
                    }
                sum += e.wait();
            }
        });
        chain.get();
        ASSERT_EQ(sum, 6);
    }
}

namespace {
comity::future<long> adds(comity::eventual<int> &e) { co_return co_await e; }
} // namespace

TEST(coroutine, all_that_wait_go_on_once) {
    constexpr int each = 50, all = 5;
    for (int round = 0; round < 100; ++round) {
        comity::eventual<int> e;
        std::atomic<long> sum{0};
        in_threads(all, 1, [&](int i) {
            if (i == all) {
                e.set(1);
                return;
            }
            std::vector<comity::future<long>> waiting;
            for (int n = 0; n < each; ++n) waiting.push_back(adds(e));
            for (auto &f : waiting) sum += f.get();
        });
        ASSERT_EQ(sum, each * all);
    }
}

TEST(sleep, thousands_sleep_at_once_and_all_wake) {
    const comity::threads scope;
    std::vector<comity::thread> all;
    std::atomic<int> early{0};
    for (int i = 0; i < 5000; ++i)
        all.emplace_back([&early, i] {
            random_time time(i);
            for (int n = 0; n < 4; ++n) {
                const auto t = time(5000);
                const auto from = std::chrono::steady_clock::now();
                comity::this_thread::sleep_for(t);
                early += std::chrono::steady_clock::now() - from < t;
            }
        });
    all.clear();
    EXPECT_EQ(early, 0);
}
