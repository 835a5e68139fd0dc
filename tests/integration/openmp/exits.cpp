// The process ends by exit, from a rank, a task, a thread or a handler, while others are at work: it ends with that
// code, after handlers and destructors that take their time. ./exits: each case again and again, in a process of its
// own;
// ./exits CALLER WORK: one.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include <omp.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int code = 14, longest_s = 30;

void compute(long steps) {
    volatile long sum = 0;
    for (long i = 0; i < steps; ++i) sum = sum + i;
}

void handler() {
    compute(1'000'000);
    usleep(3000);
    long sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 10; ++i) sum += i;
    if (sum != 45) abort();
}

struct slow_to_end {
    std::vector<int> of = std::vector<int>(1000, 3);
    ~slow_to_end() {
        if (of.size() != 1000 || of[1] != 3) abort();
        compute(100'000);
        usleep(1000);
    }
};
thread_local slow_to_end own;
slow_to_end everybodys;

int copies = 7;
#pragma omp threadprivate(copies)

[[noreturn]] void work(const char *how) {
    ++own.of[0];
    for (;;) {
        ++copies;
        if (!strcmp(how, "computes")) compute(1000);
        if (!strcmp(how, "sleeps")) usleep(100);
        if (!strcmp(how, "tasks")) {
#pragma omp task
            ++own.of[0];
#pragma omp taskwait
            usleep(10);
        }
    }
}

bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

// Ranks 1 and 2 of three are at work.
void in_region(const char *caller, const char *how) {
#pragma omp parallel num_threads(3)
    {
        ++own.of[0];
        ++copies;
        const int leaves = is(caller, "last_rank") ? 2 : 0;
        if (omp_get_thread_num() == leaves) {
            if (is(caller, "task")) {
#pragma omp task
                exit(code);
#pragma omp taskwait
            }
            if (is(caller, "inner")) {
#pragma omp parallel num_threads(2)
                if (omp_get_thread_num() == 1) exit(code);
            }
            if (!is(caller, "late_first") || !usleep(2000)) exit(code);
        }
        if (is(how, "barrier")) {
#pragma omp barrier
        }
        if (!is(how, "returns")) work(how);
    }
}

void in_team(const char *how) {
#pragma omp teams num_teams(3)
    {
        if (omp_get_team_num() == 0) exit(code);
        work(how);
    }
}

// Two threads have regions, another one or the first ends the process.
void beside_regions(const char *caller, const char *how) {
    for (int i = 0; i < 2; ++i)
        std::thread([how] {
#pragma omp parallel num_threads(2)
            work(how);
        }).detach();
    usleep(5000);
    if (is(caller, "main")) exit(code);
    std::thread([] { exit(code); }).join();
}

// Regions of many barriers, most of whose time is the runtime's own, end by a handler that the kernel calls there.
[[noreturn]] void in_handler() {
    std::signal(SIGUSR1, [](int) { exit(code); });
    sigevent by{};
    by.sigev_notify = SIGEV_SIGNAL;
    by.sigev_signo = SIGUSR1;
    timer_t timer{};
    if (timer_create(CLOCK_MONOTONIC, &by, &timer) != 0) abort();
    itimerspec at{};
    at.it_value.tv_nsec = 1'000'000 + getpid() % 7 * 300'000;
    timer_settime(timer, 0, &at, nullptr);
    for (;;)
#pragma omp parallel num_threads(4)
        for (int k = 0; k < 20; ++k) {
#pragma omp barrier
        }
}

int one(const char *caller, const char *how) {
    atexit(handler);
    omp_set_max_active_levels(3);
    if (is(caller, "handler"))
        in_handler();
    else if (is(caller, "team"))
        in_team(how);
    else if (is(caller, "main") || is(caller, "thread"))
        beside_regions(caller, how);
    else
        in_region(caller, how);
    usleep(longest_s * 1'000'000);
    return 1;
}

bool ends_well(const char *caller, const char *how) {
    char limit[] = "30", *arguments[] = {const_cast<char *>("exits"), const_cast<char *>(caller),
                                         const_cast<char *>(how), limit, nullptr};
    pid_t child = 0;
    int status = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child)
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == code) return true;
    std::fprintf(stderr, "%s, others: %s: status %#x\n", caller, how, static_cast<unsigned>(status));
    return false;
}

} // namespace

int main(int argc, char **argv) {
    if (argc > 2) {
        alarm(longest_s);
        return one(argv[1], argv[2]);
    }
    const int rounds = argc > 1 ? atoi(argv[1]) : 3;
    bool all = true;
    for (int i = 0; i < rounds; ++i) {
        for (const char *caller : {"first_rank", "late_first", "last_rank", "task", "inner"})
            for (const char *how : {"computes", "sleeps", "barrier", "returns"}) all &= ends_well(caller, how);
        for (const char *caller : {"team", "main", "thread"}) all &= ends_well(caller, "sleeps");
        all &= ends_well("late_first", "tasks");
        for (int k = 0; k < 5; ++k) all &= ends_well("handler", "barriers");
    }
    return all ? 0 : 1;
}
