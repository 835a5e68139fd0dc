// Waits whose deadline has passed, again and again, on the only hart: those that are waited for run in between.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>

using namespace std::chrono_literals;

namespace {

// `wait` is called until it says true, while a thread that runs `act` is ready.
template <class Wait, class Act> void wait_again_and_again(Wait wait, Act act) {
    const comity::threads scope;
    comity::thread([&] {
        comity::thread acts(act);
        while (!wait()) {
        }
    }).join();
}

} // namespace

TEST(late_wait, for_an_event_lets_others_run) {
    comity::event there;
    wait_again_and_again([&] { return there.wait_for(0ns); }, [&] { there.set(); });
}

TEST(late_wait, for_a_condition_lets_others_run) {
    comity::mutex m;
    comity::condition c;
    bool ready = false; // under m
    wait_again_and_again(
        [&] {
            std::unique_lock lock(m);
            c.wait_for(lock, -1s);
            return ready;
        },
        [&] {
            const std::lock_guard lock(m);
            ready = true;
        });
}

TEST(late_wait, for_a_semaphore_lets_others_run) {
    comity::semaphore s(0);
    wait_again_and_again([&] { return s.try_acquire_for(0ns); }, [&] { s.release(); });
}

TEST(late_wait, for_a_lock_lets_others_run) {
    comity::mutex m;
    comity::rwlock l;
    m.lock();
    l.lock();
    wait_again_and_again([&] { return m.try_lock_for(0ns); }, [&] { m.unlock(); });
    wait_again_and_again([&] { return l.try_lock_shared_for(0ns); }, [&] { l.unlock(); });
    m.unlock();
    l.unlock_shared();
}

// With COMITY_SPIN_US=1000000 who spun for all of that would take five seconds.
TEST(late_wait, does_not_spin_beyond_its_deadline) {
    const auto from = std::chrono::steady_clock::now();
    const comity::threads scope;
    comity::thread([] {
        comity::event never;
        for (int i = 0; i < 5; ++i) EXPECT_FALSE(never.wait_for(5ms));
    }).join();
    EXPECT_LT(std::chrono::steady_clock::now() - from, 2500ms);
}
