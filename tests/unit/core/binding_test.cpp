// Harts bound to CPUs: who carries one runs there, and a thread of the program's gets its own mask back. The same tests
// run with and without COMITY_BIND.
#include "comity/core.hpp"
#include "comity/thread.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

std::vector<int> own_mask() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    std::vector<int> cpus;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) cpus.push_back(i);
    return cpus;
}

const std::vector<int> at_start = own_mask();

bool starts_bound() {
    const char *what = std::getenv("COMITY_BIND");
    return what && std::string(what) != "none";
}

// Calls f() on every hart, in threads that wait for each other.
template <class F> void on_each_hart(F f) {
    const comity::threads scope;
    std::atomic<int> there{0};
    std::vector<comity::thread> all;
    const int n = comity_hart_count();
    for (int i = 0; i < n; ++i)
        all.emplace_back([&] {
            ++there;
            while (there < n) std::this_thread::yield(); // keeps its hart
            f(comity::hart_id());
        });
    for (auto &t : all) t.join();
}

class binding : public testing::Test {
    void TearDown() override {
        for (int i = 0; i < comity_hart_count(); ++i)
            comity::bind_hart(i, starts_bound() ? before[static_cast<std::size_t>(i)] : std::vector<int>());
        EXPECT_EQ(own_mask(), at_start);
    }
    std::vector<std::vector<int>> before = [] {
        std::vector<std::vector<int>> all;
        for (int i = 0; i < comity_hart_count(); ++i) all.push_back(comity::hart_cpus(i));
        return all;
    }();
};

} // namespace

TEST_F(binding, carriers_run_where_their_hart_does) {
    on_each_hart([](int hart) { EXPECT_EQ(own_mask(), comity::hart_cpus(hart)); });
}

TEST_F(binding, harts_are_bound_as_the_environment_says) {
    if (starts_bound() && std::string(std::getenv("COMITY_BIND")) == "cores") {
        for (int i = 0; i < comity_hart_count(); ++i) EXPECT_GE(comity::hart_location(i).core, 0);
    } else if (!starts_bound()) {
        EXPECT_EQ(comity::hart_cpus(0), at_start);
    }
}

TEST_F(binding, a_hart_that_is_bound_takes_its_carrier_along) {
    const int last = at_start.back();
    for (int i = 0; i < comity_hart_count(); ++i) comity::bind_hart(i, {&last, 1});
    on_each_hart([last](int hart) {
        EXPECT_EQ(own_mask(), std::vector<int>{last}) << hart;
        EXPECT_EQ(::sched_getcpu(), last);
    });
    for (int i = 0; i < comity_hart_count(); ++i) comity::bind_hart(i, {});
    on_each_hart([](int) { EXPECT_EQ(own_mask(), at_start); });
}

TEST_F(binding, a_hart_bound_while_it_works_moves_at_once) {
    const int first = at_start.front();
    on_each_hart([first](int hart) {
        comity::bind_hart(hart, {&first, 1});
        EXPECT_EQ(own_mask(), std::vector<int>{first});
    });
}

TEST_F(binding, workers_are_bound_by_others) {
    if (comity_hart_count() < 2) GTEST_SKIP();
    const int first = at_start.front();
    std::atomic<int> step{0};
    const comity::threads scope;
    comity::thread other([&] {
        step = comity::hart_id() + 1;
        const int here = comity::hart_id();
        while (step != -1) sched_yield();
        EXPECT_EQ(own_mask(), std::vector<int>{first}) << here;
    });
    while (step == 0) sched_yield(); // keeps the hart, so that a worker takes the thread
    comity::bind_hart(step - 1, {&first, 1});
    step = -1;
    other.join();
}

TEST_F(binding, a_thread_of_the_program_has_its_own_mask_outside) {
    const int last = at_start.back();
    std::thread([last] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(last, &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        for (int i = 0; i < 3; ++i) {
            {
                const comity::threads scope;
                EXPECT_EQ(own_mask(), starts_bound() ? comity::hart_cpus(comity::hart_id()) : std::vector<int>{last});
            }
            EXPECT_EQ(own_mask(), std::vector<int>{last});
        }
    }).join();
}

TEST_F(binding, a_thread_of_the_program_keeps_its_own_mask_when_its_hart_is_no_longer_bound) {
    if (at_start.size() < 2) GTEST_SKIP() << "one CPU";
    const int first = at_start.front(), last = at_start.back();
    std::thread([first, last] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(last, &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        const comity::threads scope;
        const int hart = comity::hart_id();
        comity::bind_hart(hart, {&first, 1});
        EXPECT_EQ(own_mask(), std::vector<int>{first});
        std::thread([hart] { comity::bind_hart(hart, {}); }).join();
        EXPECT_EQ(own_mask(), std::vector<int>{last});
    }).join();
}

TEST_F(binding, a_thread_of_the_program_follows_a_hart_that_another_one_had_meanwhile) {
    // One hart: this thread gives it away while it waits for the other one, which enters and leaves.
    const int first = at_start.front(), last = at_start.back();
    if (comity_hart_count() != 1) GTEST_SKIP() << "for one hart";
    const comity::threads scope;
    comity::bind_hart(0, {&first, 1});
    std::atomic<bool> over{false};
    std::thread other([&] {
        { const comity::threads inner; }
        over = true;
    });
    while (!over) comity::this_thread::yield();
    other.join();
    std::thread([last] { comity::bind_hart(0, {&last, 1}); }).join();
    EXPECT_EQ(own_mask(), std::vector<int>{last});
}

TEST_F(binding, many_threads_come_and_go) {
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i)
        all.emplace_back([] {
            for (int j = 0; j < 50; ++j) {
                {
                    const comity::threads scope;
                    comity::thread([] {}).join();
                }
                EXPECT_EQ(own_mask(), at_start);
            }
        });
    for (int j = 0; j < 200; ++j) comity::bind_hart(j % comity_hart_count(), {&at_start[0], 1});
    for (auto &t : all) t.join();
}

TEST_F(binding, a_child_process_may_run_anywhere) {
    const int first = at_start.front();
    for (int i = 0; i < comity_hart_count(); ++i) comity::bind_hart(i, {&first, 1});
    const comity::threads scope;
    EXPECT_EQ(own_mask(), std::vector<int>{first});
    const pid_t child = ::fork();
    if (child == 0) ::_exit(own_mask() == at_start ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(binding, what_is_wrong_is_an_error) {
    const int n = comity_hart_count();
    const int none = 8191, good = at_start[0];
    comity_location_t l;
    std::size_t count = 0;
    EXPECT_EQ(comity_hart_bind(-1, &good, 1), EINVAL);
    EXPECT_EQ(comity_hart_bind(n, &good, 1), EINVAL);
    EXPECT_EQ(comity_hart_bind(0, nullptr, 1), EINVAL);
    EXPECT_EQ(comity_hart_bind(0, &none, 1), EINVAL);
    const std::vector<int> mixed{good, -1};
    EXPECT_EQ(comity_hart_bind(0, mixed.data(), 2), EINVAL);
    EXPECT_EQ(comity_hart_cpus(n, nullptr, 0, &count), EINVAL);
    EXPECT_EQ(comity_hart_cpus(0, nullptr, 1, &count), EINVAL);
    EXPECT_EQ(comity_hart_cpus(0, nullptr, 0, nullptr), 0);
    EXPECT_EQ(comity_hart_location(0, nullptr), EINVAL);
    EXPECT_EQ(comity_hart_location(n, &l), EINVAL);
    EXPECT_EQ(comity_cpu_location(none, &l), EINVAL);
    EXPECT_EQ(comity_cpu_location(-1, &l), EINVAL);
    EXPECT_EQ(comity_cpu_location(good, nullptr), EINVAL);
    EXPECT_THROW(comity::bind_hart(n, {}), std::system_error);
    EXPECT_THROW(comity::hart_cpus(-1), std::system_error);
    EXPECT_THROW(comity::hart_location(n), std::system_error);
    EXPECT_THROW(comity::cpu_location(none), std::system_error);
    if (at_start.size() > 1) {
        int one = 0;
        comity::bind_hart(0, {});
        EXPECT_EQ(comity_hart_cpus(0, &one, 1, &count), ERANGE);
        EXPECT_EQ(count, at_start.size());
        EXPECT_EQ(one, at_start[0]);
    }
}

TEST_F(binding, cpus_have_a_place) {
    for (const int cpu : at_start) {
        const comity::location l = comity::cpu_location(cpu);
        EXPECT_EQ(l.cpu, cpu);
        for (const int part : {l.core, l.l2_cache, l.last_cache, l.numa_node, l.socket}) EXPECT_GE(part, 0);
    }
}
