// Children of threads that fork are sent signals. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

enum class before { sleeps, computes };                        // the thread that forks, just before
enum class action { none, handler, restarting_handler, exec }; // of the child upon SIGTERM

struct order {
    before what;
    action act;
    bool is_nested; // a thread of the child forks another one, which it is about
    std::chrono::milliseconds wait;
};

// Of the processes of a test.
struct shared {
    sem_t never;
    std::atomic<pid_t> child{0};
};

constexpr int handled = 3;

void nap(std::chrono::milliseconds t) {
    const timespec by{t / 1s, std::chrono::nanoseconds(t % 1s).count()};
    nanosleep(&by, nullptr);
}

// Where harts are few, the kernel thread that it is on afterwards is mostly its own.
void prepare(before what) {
    if (what == before::sleeps)
        for (int i = 0; i < 20; ++i) nap(1ms);
    const auto end = std::chrono::steady_clock::now() + 150ms;
    while (what == before::computes && std::chrono::steady_clock::now() < end) {
    }
}

// In the child, until it is ended.
void stay(shared &s, action a) {
    struct sigaction to {};
    to.sa_handler = [](int) { _exit(handled); };
    to.sa_flags = a == action::restarting_handler ? SA_RESTART : 0;
    if (a == action::handler || a == action::restarting_handler) sigaction(SIGTERM, &to, nullptr);
    s.child = getpid();
    if (a == action::exec) execl("/bin/sleep", "sleep", "30", nullptr);
    for (;;) sem_wait(&s.never);
}

// Returns the status of the child, which it sends a signal; -1: that does not end.
int fork_and_end(shared &s, const order &o) {
    prepare(o.what);
    s.child = 0;
    const pid_t p = fork();
    if (p == 0) stay(s, o.act);
    while (s.child == 0) nap(1ms);
    nap(o.wait);
    kill(p, SIGTERM);
    int status = -1;
    for (int i = 0; i < 500; ++i) {
        if (waitpid(p, &status, WNOHANG) == p) return status;
        nap(10ms);
    }
    kill(p, SIGKILL);
    waitpid(p, nullptr, 0);
    return -1;
}

int fork_in_thread(shared &s, const order &o) {
    int status = -1;
    auto f = [&] { status = fork_and_end(s, o); };
    pthread_join(start(f), nullptr);
    return status;
}

// The child forks in a thread, too, and says whether all was well.
int fork_nested(shared &s, const order &o, bool (*is_well)(const order &, int)) {
    int status = -1;
    auto f = [&] {
        prepare(o.what);
        const pid_t p = fork();
        if (p == 0) _exit(is_well(o, fork_in_thread(s, o)) ? 0 : 1);
        waitpid(p, &status, 0);
    };
    pthread_join(start(f), nullptr);
    return status;
}

bool is_well(const order &o, int status) {
    if (o.act == action::none || o.act == action::exec) return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    return WIFEXITED(status) && WEXITSTATUS(status) == handled;
}

std::string text_of(const order &o) {
    static const std::array<const char *, 4> acts{"no handler", "a handler", "a handler with SA_RESTART", "exec"};
    return std::string(o.what == before::sleeps ? "after sleeps, " : "after a loop, ") +
           acts.at(static_cast<unsigned>(o.act)) + (o.is_nested ? ", nested, " : ", ") +
           std::to_string(o.wait.count()) + " ms";
}

class forked : public ::testing::TestWithParam<bool> {};

} // namespace

TEST_P(forked, children_are_ended_by_signals_wherever_their_threads_wait) {
    auto *s = new (mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) shared;
    sem_init(&s->never, 1, 0);
    std::atomic<bool> stop{false};
    auto compute = [&] {
        while (!stop) {
        }
    };
    std::array<pthread_t, 3> busy{};
    for (pthread_t &t : busy) t = start(compute);
    for (const before what : {before::sleeps, before::computes})
        for (const action a : {action::none, action::handler, action::restarting_handler, action::exec})
            for (const auto wait : {0ms, 5ms, 30ms, 100ms}) {
                const order o{what, a, GetParam(), wait};
                if (o.is_nested)
                    EXPECT_EQ(fork_nested(*s, o, is_well), 0) << text_of(o);
                else
                    EXPECT_TRUE(is_well(o, fork_in_thread(*s, o))) << text_of(o);
                if (HasFailure()) break;
            }
    stop = true;
    for (const pthread_t t : busy) pthread_join(t, nullptr);
    munmap(s, sizeof *s);
}

INSTANTIATE_TEST_SUITE_P(each, forked, ::testing::Bool(), [](const auto &i) { return i.param ? "nested" : "once"; });

// A kernel thread that the C library makes, whose mask is the kernel's.
TEST(mask, of_a_thread_is_its_makers_wherever_that_was) {
    std::atomic<bool> stop{false};
    auto compute = [&] {
        while (!stop) {
        }
    };
    std::array<pthread_t, 3> busy{};
    for (pthread_t &t : busy) t = start(compute);
    sigset_t seen;
    sigfillset(&seen);
    auto look = [&] { pthread_sigmask(SIG_SETMASK, nullptr, &seen); };
    auto make = [&] {
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, SIGUSR2);
        pthread_sigmask(SIG_SETMASK, &own, nullptr);
        prepare(before::computes);
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof cpus, &cpus);
        pthread_attr_t a;
        pthread_attr_init(&a);
        pthread_attr_setaffinity_np(&a, sizeof cpus, &cpus);
        pthread_join(start(look, &a), nullptr);
        pthread_attr_destroy(&a);
    };
    pthread_join(start(make), nullptr);
    for (int signal = 1; signal < 32; ++signal) EXPECT_EQ(sigismember(&seen, signal), signal == SIGUSR2) << signal;
    stop = true;
    for (const pthread_t t : busy) pthread_join(t, nullptr);
}

TEST(fork_signals, end_a_child_that_becomes_another_program_at_that_moment) {
    auto block = [] {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &one, nullptr);
    };
    pthread_join(start(block), nullptr); // from here on the signal is Comity's
    for (int i = 0; i < 40; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            execlp("sleep", "sleep", "2", static_cast<char *>(nullptr));
            _exit(1);
        }
        usleep(static_cast<useconds_t>(50 * i));
        EXPECT_EQ(kill(child, SIGTERM), 0);
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status)) << "sent after " << 50 * i << " us";
    }
}

// A handler that interrupts malloc waits for no lock that the fork holds, which waits for malloc's.
TEST(fork_signals, do_not_keep_a_fork_from_the_locks_of_malloc) {
    struct sigaction to {
    }, was{};
    to.sa_handler = [](int) {};
    to.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &to, &was);
    std::atomic<bool> stop{false};
    auto allocate = [&] {
        constexpr std::size_t least = 1100, spread = 5000; // what no thread keeps for itself
        for (unsigned n = 1; !stop;) {
            std::array<void *, 40> all{};
            for (void *&p : all) p = std::malloc(least + (n = n * 1664525 + 1013904223) / 256 % spread);
            for (void *p : all) std::free(p);
        }
    };
    std::array<pthread_t, 3> busy{};
    for (pthread_t &t : busy) t = start(allocate);
    itimerval often{{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 300; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        EXPECT_EQ(waitpid(child, nullptr, 0), child);
    }
    often = {};
    setitimer(ITIMER_REAL, &often, nullptr);
    stop = true;
    for (const pthread_t t : busy) pthread_join(t, nullptr);
    sigaction(SIGALRM, &was, nullptr);
}
