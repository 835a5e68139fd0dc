// What ends or leaves: exceptions amid handlers, requests to cancel threads in calls, chains of forks, what the kernel
// keeps for each thread, and at last the process, by `exit` from where it may be called while all others go on.
// Whatever the settings, each deed does what it should, and the process ends with STATUS.
// ./storm SEED THREADS STATUS
#include "../integration/openmp/check.h"
#include "chance.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void pause(chance &by) {
    switch (by.below(4)) {
    case 0:
        return compute_us(by.below(300));
    case 1:
        return void(usleep(by.below(500)));
    case 2:
        return void(sched_yield());
    default:
        return;
    }
}

bool threads_are_ours = false;

// ---- Exceptions, and handlers that run amid them

std::atomic<long> guards{0}; // that live

struct guard {
    guard() { ++guards; }
    ~guard() { --guards; }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
};

[[gnu::noinline]] int throw_from(int depth, const std::string &what) {
    const guard here;
    if (depth == 0) throw std::runtime_error(what);
    return throw_from(depth - 1, what) + 1;
}

bool throws_well(int depth) {
    const std::string what = std::to_string(depth);
    try {
        throw_from(depth, what);
    } catch (const std::runtime_error &e) {
        return e.what() == what;
    }
    return false;
}

void handle(int) {
    const guard here;
    compute_us(5);
}

void throw_amid_handlers(chance &by, int) {
    for (int i = 0; i < 20; ++i) {
        CHECK(throws_well(static_cast<int>(by.below(12))));
        if (i % 5 == 0) pause(by);
    }
}

void throw_in_tasks(chance &by, int) {
    std::atomic<int> well{0};
    const int n = 1 + static_cast<int>(by.below(12));
#pragma omp parallel num_threads(1 + by.below(4))
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < n; ++i) {
#pragma omp task firstprivate(i) shared(well)
        {
            chance own = by.other(static_cast<unsigned>(i));
            const guard here;
            well += throws_well(i);
            pause(own);
        }
    }
    CHECK_EQUAL(well, n);
}

void rethrow_to_the_joiner(chance &by, int) {
    std::exception_ptr thrown;
    std::thread([&, own = by.other(1)]() mutable {
        try {
            pause(own);
            throw_from(5, "joined");
        } catch (...) {
            thrown = std::current_exception();
        }
    }).join();
    try {
        std::rethrow_exception(thrown);
    } catch (const std::runtime_error &e) {
        CHECK(std::string("joined") == e.what());
    }
}

// ---- Cancellation

sem_t nothing; // is never posted

struct both_ends {
    both_ends() {
        if (pipe(fd) != 0) abort();
    }
    ~both_ends() {
        close(fd[0]);
        close(fd[1]);
    }
    both_ends(const both_ends &) = delete;
    both_ends &operator=(const both_ends &) = delete;
    int fd[2];
};

// The C library may end a thread amid a handler that has interrupted its wait, where the compiler counts on no end: the
// handler's guard stays. (On stock glibc 2.36 95 of 200 such threads leave it.)
void keep_handlers_from_the_c_librarys_threads() {
    sigset_t all;
    sigfillset(&all);
    if (!threads_are_ours) pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void *wait_to_be_cancelled(void *how) {
    keep_handlers_from_the_c_librarys_threads();
    const guard here; // a request unwinds
    timespec t{1000, 0};
    char c = 0;
    const both_ends descriptors;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    switch (reinterpret_cast<long>(how)) {
    case 0:
        for (;;) sem_wait(&nothing);
    case 1:
        for (;;) nanosleep(&t, nullptr);
    case 2:
        for (;;) (void)!read(descriptors.fd[0], &c, 1);
    case 3:
        pthread_mutex_lock(&m);
        for (;;) pthread_cond_wait(&never, &m);
    default:
        for (;;) {
            pthread_testcancel();
            sched_yield();
        }
    }
}

void cancel(chance &by, int) {
    std::array<pthread_t, 3> all{};
    for (pthread_t &t : all)
        if (pthread_create(&t, nullptr, wait_to_be_cancelled, reinterpret_cast<void *>(long{by.below(5)})) != 0)
            abort();
    pause(by);
    for (const pthread_t t : all) {
        if (by.below(3) == 0) CHECK_EQUAL(pthread_kill(t, SIGUSR1), 0);
        CHECK_EQUAL(pthread_cancel(t), 0);
    }
    for (const pthread_t t : all) {
        void *result = nullptr;
        CHECK_EQUAL(pthread_join(t, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
    }
}

// ---- Ends of processes

thread_local struct last_words {
    ~last_words() { used = 0; }
    int used = 0;
} words;

// From where a process may call exit, and what the others do meanwhile.
enum ender { main_thread, thread, rank, task, enders };

void go_on(chance own) {
    words.used = 1;
    for (;;) {
        switch (own.below(4)) {
        case 0:
            throws_well(3);
            break;
        case 1:
            compute_us(own.below(200));
            break;
        default:
            pause(own);
        }
    }
}

[[noreturn]] void end_by(ender who, int status, chance &by) {
    std::atexit([] { usleep(1000); });
    words.used = 1;
    for (unsigned i = 0; i < by.below(4); ++i) std::thread([own = by.other(i)] { go_on(own); }).detach();
    pause(by);
    if (who == thread) std::thread([status] { std::exit(status); }).join();
    if (who == rank || who == task) {
#pragma omp parallel num_threads(3)
        {
            words.used = 1;
            if (omp_get_thread_num() != 0 && omp_get_num_threads() > 1) {
                chance own = by.other(static_cast<unsigned>(omp_get_thread_num()));
                for (int i = 0; i < 20; ++i) pause(own);
            }
            if (who == rank && omp_get_thread_num() == omp_get_num_threads() - 1) std::exit(status);
#pragma omp single
            if (who == task) {
#pragma omp task
                std::exit(status);
            }
        }
    }
    std::exit(status);
}

// ---- Forks

// Each process of a chain adds its part to the status of the next.
int run_link(chance by, int left) {
    if (by.below(3) == 0) std::thread([own = by.other(9)]() mutable { pause(own); }).join();
    if (by.below(3) == 0) {
        std::atomic<int> sum{0};
#pragma omp parallel num_threads(2)
        sum += 1;
        if (sum < 1) return 255;
    }
    if (!throws_well(4)) return 254;
    if (left == 0) return 1;
    const pid_t next = fork();
    if (next == 0) {
        if (by.below(2)) end_by(static_cast<ender>(by.below(enders)), run_link(by.other(3), left - 1), by);
        _exit(run_link(by.other(3), left - 1));
    }
    int status = 0;
    while (waitpid(next, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) + 1 : 253;
}

void fork_a_chain(chance &by, int depth) {
    if (!threads_are_ours && depth > 0) return; // as in calls.cpp, fork_a_child
    const int length = 1 + static_cast<int>(by.below(3));
    const pid_t first = fork();
    if (first == 0) _exit(run_link(by.other(1), length));
    int status = 0;
    while (waitpid(first, &status, 0) < 0 && errno == EINTR) {
    }
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), length + 1);
}

// ---- What the kernel keeps for each thread

const int first_niceness = getpriority(PRIO_PROCESS, 0);

// Of the calling thread.
void have_state(int niceness, unsigned long slack) {
    CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), niceness);
    CHECK_EQUAL(static_cast<unsigned long>(prctl(PR_GET_TIMERSLACK)), slack);
}

// What is made by a thread with a state of its own has that state.
void pass_on_state(chance &by, int niceness) {
    switch (by.below(4)) {
    case 0:
        return std::thread([niceness] { CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), niceness); }).join();
    case 1: {
#pragma omp parallel num_threads(1 + by.below(4))
        CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), niceness);
        return;
    }
    case 2:
        CHECK(throws_well(3));
        return;
    default: {
        const pid_t child = fork();
        if (child == 0) _exit(getpriority(PRIO_PROCESS, 0) == niceness ? 0 : 1);
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        CHECK_EQUAL(status, 0);
    }
    }
}

void keep_kernel_state(chance &by, int) {
    std::thread([own = by.other(1)]() mutable {
        const int niceness = std::min(first_niceness + 1 + static_cast<int>(own.below(10)), 19);
        const unsigned long slack = 60000 + own.below(1000);
        if (setpriority(PRIO_PROCESS, 0, niceness) != 0) abort();
        prctl(PR_SET_TIMERSLACK, slack);
        for (int i = 0; i < 5; ++i) {
            pause(own);
            have_state(niceness, slack);
            pass_on_state(own, niceness);
        }
    }).join();
    CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), first_niceness);
    std::thread([] { CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), first_niceness); }).join();
}

// ---- All of it

constexpr int deepest = 2;
void act(chance &by, int depth);

void nest(chance &by, int depth) {
    if (depth == deepest) return;
#pragma omp parallel num_threads(1 + by.below(4))
    {
        chance own = by.other(static_cast<unsigned>(omp_get_thread_num()));
        act(own, depth + 1);
    }
}

void act(chance &by, int depth) {
    using deed = void (*)(chance &, int depth);
    constexpr deed deeds[] = {throw_amid_handlers, throw_in_tasks, rethrow_to_the_joiner, cancel,
                              fork_a_chain,        nest,           keep_kernel_state};
    deeds[by.below(std::size(deeds))](by, depth);
}

void be_signalled(unsigned us) {
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    sigaction(SIGALRM, &action, nullptr);
    itimerval often{};
    often.it_interval.tv_usec = often.it_value.tv_usec = static_cast<suseconds_t>(us);
    setitimer(ITIMER_REAL, &often, nullptr);
}

} // namespace

int main(int argc, char **argv) {
    constexpr int deeds = 25;
    witness_comity();
    threads_are_ours = threads_are_comitys();
    chance own(argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 1);
    const int threads = argc > 2 ? atoi(argv[2]) : 4, status = argc > 3 ? atoi(argv[3]) : 0;
    sem_init(&nothing, 0, 0);
    omp_set_max_active_levels(3);
    constexpr unsigned intervals_us[] = {200, 1000, 10000}; // the last one is a profiler's
    be_signalled(intervals_us[own.below(3)]);
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([mine = own.other(static_cast<unsigned>(i) + 1)]() mutable {
            omp_set_max_active_levels(3);
            for (int k = 0; k < deeds; ++k) act(mine, 0);
        });
    for (int k = 0; k < deeds; ++k) act(own, 0);
    for (std::thread &t : all) t.join();
    CHECK_EQUAL(guards, 0);
    if (report() != 0) return 1;
    end_by(static_cast<ender>(own.below(enders)), status, own);
}
