// The synchronisation objects between Comity threads and kernel threads that hold no hart.
#include "comity/sync.hpp"
#include "in_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

void count_under_mutex(int own, int foreign, int rounds, bool yield_inside) {
    comity::mutex m;
    long count = 0; // under m
    in_threads(own, foreign, [&](int) {
        for (int i = 0; i < rounds; ++i) {
            const std::lock_guard lock(m);
            const long before = count;
            if (yield_inside && i % 8 == 0) comity::this_thread::yield();
            count = before + 1;
        }
    });
    EXPECT_EQ(count, static_cast<long>(own + foreign) * rounds);
}

} // namespace

TEST(mutex, threads_exclude_each_other) { count_under_mutex(16, 0, 3000, false); }
TEST(mutex, a_holder_may_be_stopped) { count_under_mutex(16, 0, 1000, true); }
TEST(mutex, kernel_threads_and_threads_exclude_each_other) { count_under_mutex(6, 4, 2000, true); }

TEST(mutex, may_be_destroyed_by_whoever_holds_it_last) {
    const comity::threads scope;
    for (int i = 0; i < 2000; ++i) {
        auto m = std::make_unique<comity::mutex>();
        std::atomic<int> left{3};
        std::vector<comity::thread> all;
        for (int n = 0; n < 3; ++n)
            all.emplace_back([&] {
                m->lock();
                comity::this_thread::yield();
                const bool last = --left == 0;
                m->unlock();
                if (last) {
                    m->lock(); // nobody else wants it any more
                    m->unlock();
                    m.reset();
                }
            });
    }
}

TEST(condition, a_bounded_buffer_loses_nothing) {
    comity::mutex m;
    comity::condition not_empty, not_full;
    std::vector<int> buffer; // under m
    std::atomic<long> sum{0};
    constexpr int producers = 4, consumers = 4, items = 2000;
    in_threads(producers + consumers - 2, 2, [&](int i) {
        const bool produces = i % 2 == 0;
        for (int n = 1; n <= items; ++n) {
            std::unique_lock lock(m);
            if (produces) {
                not_full.wait(lock, [&] { return buffer.size() < 5; });
                buffer.push_back(n);
                not_empty.notify_one();
            } else {
                not_empty.wait(lock, [&] { return !buffer.empty(); });
                sum += buffer.back();
                buffer.pop_back();
                not_full.notify_one();
            }
        }
    });
    EXPECT_EQ(sum, 4L * items * (items + 1) / 2);
    static_assert(producers == consumers);
}

TEST(condition, broadcast_wakes_everybody) {
    comity::mutex m;
    comity::condition turn;
    int arrived = 0, round = 0; // under m
    constexpr int all = 12, rounds = 300;
    in_threads(10, 2, [&](int) {
        for (int n = 0; n < rounds; ++n) {
            std::unique_lock lock(m);
            if (++arrived == all) {
                arrived = 0;
                ++round;
                turn.notify_all();
            } else {
                turn.wait(lock, [&] { return round > n; });
            }
        }
    });
    EXPECT_EQ(round, rounds);
}

TEST(barrier, nobody_passes_before_all_have_come) {
    for (const auto &[own, foreign] : {std::pair{2, 0}, {16, 0}, {3, 3}}) {
        const int all = own + foreign;
        constexpr int rounds = 1000;
        comity::barrier b(static_cast<unsigned>(all));
        std::vector<std::atomic<int>> at(static_cast<std::size_t>(all));
        std::atomic<int> last{0}, wrong{0};
        in_threads(own, foreign, [&](int i) {
            for (int n = 1; n <= rounds; ++n) {
                at[static_cast<std::size_t>(i)].store(n, std::memory_order_relaxed);
                last += b.wait();
                for (const auto &other : at) // each is in this round, or already in the next
                    wrong += other.load(std::memory_order_relaxed) < n;
            }
        });
        EXPECT_EQ(wrong, 0) << own << " threads, " << foreign << " kernel threads";
        EXPECT_EQ(last, rounds);
    }
}

TEST(event, waiters_see_what_was_written_and_may_destroy_it) {
    const comity::threads scope;
    for (int i = 0; i < 3000; ++i) {
        auto e = std::make_unique<comity::event>();
        int value = 0;
        comity::thread setter([&value, &e = *e] {
            value = 7;
            e.set();
        });
        e->wait();
        ASSERT_EQ(value, 7);
        e.reset();
    }
}

TEST(event, is_set_by_kernel_threads_for_threads_and_the_other_way) {
    comity::event there[200], back[200];
    in_threads(1, 1, [&](int i) {
        for (int n = 0; n < 200; ++n) {
            (i == 0 ? there : back)[n].set();
            (i == 0 ? back : there)[n].wait();
        }
    });
    for (const comity::event &e : there) EXPECT_TRUE(e.is_set());
}
