// The CPU time of threads: the same on Comity's and on the C library's. Nothing here goes by the time of day, so a busy
// machine changes nothing.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t ms = 1'000'000;

std::int64_t ns_by(clockid_t clock) {
    timespec t{};
    EXPECT_EQ(0, clock_gettime(clock, &t));
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}
std::int64_t own_ns() { return ns_by(CLOCK_THREAD_CPUTIME_ID); }
std::int64_t process_ns() { return ns_by(CLOCK_PROCESS_CPUTIME_ID); }
std::int64_t ns_of(const timeval &t) { return t.tv_sec * 1'000'000'000LL + t.tv_usec * 1'000; }

void compute() {
    for (int i = 0; i < 20'000; ++i) asm volatile("" ::: "memory");
}
void use(std::int64_t ns) {
    for (const std::int64_t end = own_ns() + ns; own_ns() < end;) compute();
}

template <unsigned n, class F> void run(F &f) {
    pthread_t threads[n];
    for (pthread_t &t : threads) t = start(f);
    for (pthread_t t : threads) EXPECT_EQ(0, pthread_join(t, nullptr));
}

} // namespace

TEST(a_threads_clock, starts_near_zero_whoever_was_on_its_storage_before) {
    auto first = [] { use(100 * ms); };
    auto next = [] {
        EXPECT_GT(50 * ms, own_ns());
        rusage used{};
        EXPECT_EQ(0, getrusage(RUSAGE_THREAD, &used));
        EXPECT_GT(50 * ms, ns_of(used.ru_utime) + ns_of(used.ru_stime));
    };
    run<4>(first);
    run<8>(next);
}

TEST(a_threads_clock, never_falls) {
    auto f = [] {
        std::int64_t last = own_ns(), user = 0, system = 0;
        for (int i = 0; i < 200; ++i) {
            compute();
            usleep(i % 2 ? 300 : 0);
            const std::int64_t now = own_ns();
            EXPECT_LE(last, now);
            last = now;
            rusage used{};
            EXPECT_EQ(0, getrusage(RUSAGE_THREAD, &used));
            EXPECT_LE(user, ns_of(used.ru_utime));
            EXPECT_LE(system, ns_of(used.ru_stime));
            user = ns_of(used.ru_utime);
            system = ns_of(used.ru_stime);
        }
    };
    run<6>(f);
}

TEST(a_threads_clock, counts_what_it_computes_and_no_others) {
    sem_t done;
    ASSERT_EQ(0, sem_init(&done, 0, 0));
    std::int64_t waited = 0;
    auto waits = [&] {
        const std::int64_t from = own_ns();
        for (int i = 0; i < 3; ++i) sem_wait(&done);
        waited = own_ns() - from;
    };
    auto computes = [&] { use(150 * ms), sem_post(&done); };
    const std::int64_t from = own_ns();
    const pthread_t waiter = start(waits);
    run<3>(computes);
    EXPECT_EQ(0, pthread_join(waiter, nullptr));
    EXPECT_GT(50 * ms, waited);
    EXPECT_GT(100 * ms, own_ns() - from); // main has waited, too
}

TEST(the_clocks_of_all_threads, together_show_what_the_process_has_used) {
    std::atomic<std::int64_t> sum{0};
    auto f = [&] {
        const std::int64_t from = own_ns();
        for (int i = 0; i < 20; ++i) use(5 * ms), sched_yield();
        sum += own_ns() - from;
    };
    const std::int64_t from = process_ns(), main_from = own_ns();
    run<6>(f);
    const std::int64_t all = process_ns() - from, counted = sum + own_ns() - main_from;
    EXPECT_LE(counted, all + all / 50);
    EXPECT_GE(counted, all - all / 10);
}

// The timers' thread wakes for them. With one hart no other searches for work meanwhile, which is no thread's.
TEST(the_clocks_of_all_threads, together_show_what_waking_them_has_cost) {
    const char *harts = getenv("COMITY_HARTS");
    const int part = harts && atoi(harts) == 1 ? 10 : 2;
    std::atomic<std::int64_t> sum{0};
    auto f = [&] {
        const std::int64_t from = own_ns();
        for (int i = 0; i < 1000; ++i) compute(), usleep(200);
        sum += own_ns() - from;
    };
    const std::int64_t from = process_ns(), main_from = own_ns();
    run<6>(f);
    const std::int64_t all = process_ns() - from, counted = sum + own_ns() - main_from;
    EXPECT_LE(counted, all + all / 50);
    EXPECT_GE(counted, all - all / part);
}

TEST(a_threads_clock, knows_what_the_thread_has_used_before_anybody_asks) {
    std::atomic<std::int64_t> sum{0};
    const std::int64_t from = process_ns();
    auto f = [&] {
        while (process_ns() - from < 600 * ms) compute();
        sum += own_ns();
    };
    run<2>(f);
    const std::int64_t all = process_ns() - from;
    EXPECT_LE(sum, all + all / 10);
    EXPECT_GE(sum, all / 2);
}

TEST(another_threads_clock, can_be_read_while_it_lives) {
    std::atomic<bool> stop{false};
    sem_t computes;
    ASSERT_EQ(0, sem_init(&computes, 0, 0));
    auto f = [&] {
        use(10 * ms);
        sem_post(&computes);
        while (!stop) compute(), sched_yield();
    };
    const pthread_t t = start(f);
    clockid_t clock = 0;
    ASSERT_EQ(0, pthread_getcpuclockid(t, &clock));
    timespec resolution{};
    EXPECT_EQ(0, clock_getres(clock, &resolution));
    sem_wait(&computes);
    std::int64_t last = ns_by(clock);
    EXPECT_LE(9 * ms, last);
    for (const std::int64_t end = last + 30 * ms; last < end; sched_yield()) {
        const std::int64_t now = ns_by(clock);
        EXPECT_LE(last, now);
        last = now;
    }
    stop = true;
    EXPECT_EQ(0, pthread_join(t, nullptr));
    timespec time{};
    while (clock_gettime(clock, &time) == 0) sched_yield(); // the kernel wakes the joiner before the thread is gone
    EXPECT_EQ(EINVAL, errno);
}

TEST(ones_own_clock, is_the_same_by_each_name) {
    auto f = [] {
        clockid_t clock = 0;
        ASSERT_EQ(0, pthread_getcpuclockid(pthread_self(), &clock));
        const std::int64_t before = own_ns(), by_id = ns_by(clock), after = own_ns();
        EXPECT_LE(before, by_id);
        EXPECT_LE(by_id, after);
    };
    run<1>(f);
    f(); // main
}

TEST(a_counter_of_perf, counts_what_its_thread_uses_and_no_others) {
    sem_t done;
    ASSERT_EQ(0, sem_init(&done, 0, 0));
    bool is_open = false;
    auto counts = [&] {
        perf_event_attr what{};
        what.size = sizeof what;
        what.type = PERF_TYPE_SOFTWARE;
        what.config = PERF_COUNT_SW_TASK_CLOCK;
        const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0L));
        is_open = fd >= 0;
        for (int i = 0; i < 3; ++i) sem_wait(&done);
        use(20 * ms);
        std::uint64_t ns = 0;
        if (!is_open) return;
        EXPECT_EQ(static_cast<ssize_t>(sizeof ns), read(fd, &ns, sizeof ns));
        EXPECT_LE(15 * ms, static_cast<std::int64_t>(ns));
        EXPECT_GT(70 * ms, static_cast<std::int64_t>(ns));
        close(fd);
    };
    auto computes = [&] { use(100 * ms), sem_post(&done); };
    const pthread_t counter = start(counts);
    run<3>(computes);
    EXPECT_EQ(0, pthread_join(counter, nullptr));
    if (!is_open) GTEST_SKIP() << "perf_event_open is not allowed here";
}

TEST(a_threads_clock, begins_anew_in_the_child_of_a_fork) {
    auto f = [] {
        use(100 * ms);
        const pid_t child = fork();
        if (child == 0) _exit(own_ns() < 50 * ms ? 7 : 1);
        int status = 0;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(7, WEXITSTATUS(status));
    };
    run<1>(f);
    f();
}
