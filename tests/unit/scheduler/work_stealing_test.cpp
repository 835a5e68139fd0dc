#include "comity/core.h"
#include "comity/scheduler.hpp"
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <set>
#include <thread>
#include <vector>

namespace {
using clock_type = std::chrono::steady_clock;

// The caller computes meanwhile. Half a minute is for ever, on the busiest machine.
bool comes_true(const std::atomic<bool> &flag) {
    for (const auto until = clock_type::now() + std::chrono::seconds(30); clock_type::now() < until;)
        if (flag) return true;
    return false;
}
} // namespace

TEST(work_stealing, another_hart_comes_for_a_new_thread_while_the_creator_computes) {
    const comity::threads scope;
    std::atomic<bool> ran{false};
    comity::thread t([&ran] { ran = true; });
    EXPECT_TRUE(comes_true(ran));
}

TEST(work_stealing, a_hart_that_has_left_comes_back_for_new_work) {
    const comity::threads scope;
    for (int i = 0; i < 5; ++i) {
        std::atomic<bool> ran{false};
        comity::thread t([&ran] { ran = true; });
        EXPECT_TRUE(comes_true(ran));
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // longer than a hart spins
    }
}

TEST(work_stealing, a_thread_that_went_to_sleep_elsewhere_runs_where_there_is_a_hart) {
    const comity::threads scope;
    comity::event go;
    std::atomic<bool> woken{false};
    comity::thread t([&] {
        go.wait();
        woken = true;
    });
    for (int i = 0; i < 5; ++i) comity::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go.set();
    EXPECT_TRUE(comes_true(woken)); // this hart stays here
}

TEST(work_stealing, fresh_threads_start_although_others_yield_for_ever) {
    const comity::threads scope;
    std::atomic<bool> stop{false};
    std::vector<comity::thread> yielding;
    for (int i = 0; i < 4; ++i)
        yielding.emplace_back([&stop] {
            while (!stop) comity::this_thread::yield();
        });
    for (int i = 0; i < 10; ++i) comity::this_thread::yield();
    comity::thread stops([&stop] { stop = true; });
    stops.join();
}

TEST(work_stealing, threads_that_go_on_are_not_starved_by_new_ones) {
    std::atomic<bool> went_on{false};
    const comity::threads scope; // ends before it: its end waits for the detached threads, which read it
    comity::thread waits([&went_on] {
        for (int i = 0; i < 10; ++i) comity::this_thread::yield();
        went_on = true;
    });
    struct chain {
        static void link(std::atomic<bool> *stop) {
            if (!*stop) comity::thread({.detached = true}, link, stop); // always one more
        }
    };
    comity::thread({.detached = true}, chain::link, &went_on);
    waits.join();
}

TEST(work_stealing, a_second_thread_of_the_program_gets_a_hart_from_a_busy_one) {
    std::atomic<bool> stop{false}, second_ran{false};
    std::thread first([&stop] {
        const comity::threads scope;
        std::vector<comity::thread> busy;
        for (int i = 0; i < 4; ++i)
            busy.emplace_back([&stop] {
                while (!stop) comity::this_thread::yield();
            });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it has both harts
    std::thread second([&second_ran] {
        comity::thread t([&second_ran] { second_ran = true; });
        t.join();
    });
    EXPECT_TRUE(comes_true(second_ran));
    stop = true;
    first.join();
    second.join();
}

namespace {

// Two threads of the caller's scheduler become ready while others have both harts. Those are free one after the other;
// the first thread has the first one, and computes until the second one runs.
void become_ready_while_harts_are_elsewhere() {
    std::atomic<int> parked{0}, busy{0}, here{0};
    std::atomic<bool> both{false}, stop[2] = {false, false}, met[2] = {false, false};
    comity::event go[2], over;
    std::vector<comity::thread> ours;
    for (int i = 0; i < 2; ++i)
        ours.emplace_back([&, i] {
            ++parked;
            go[i].wait();
            if (++here == 2) both = true;
            met[i] = comes_true(both);
            if (here == 2) over.set();
        });
    while (parked < 2) comity::this_thread::yield();
    std::thread others([&] {
        {
            const comity::threads scope;
            std::vector<comity::thread> all;
            for (auto &s : stop)
                all.emplace_back([&] {
                    ++busy;
                    while (!s) {
                    }
                });
        }
    });
    std::thread outside([&] { // holds no hart
        while (busy < 2) std::this_thread::yield();
        for (comity::event &e : go) e.set(); // one by one
        stop[0] = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        stop[1] = true;
    });
    over.wait();
    ours.clear();
    others.join();
    outside.join();
    EXPECT_TRUE(met[0] && met[1]) << "a hart was idle, and a thread waited for another one's end";
}

} // namespace

TEST(work_stealing, several_that_become_ready_at_once_have_each_a_hart_when_there_are_some) {
    const comity::threads scope;
    become_ready_while_harts_are_elsewhere();
}

TEST(work_stealing, several_under_an_order_have_each_a_hart_when_there_are_some) {
    const comity::scheduled_threads scope(comity::scheduler_kind::fifo);
    become_ready_while_harts_are_elsewhere();
}
