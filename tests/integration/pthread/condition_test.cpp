// Condition variables as a program sees them. Run under the preload object, and once without it: what holds there is
// the C library's, and shows that the test asks for nothing else. Each test runs on threads that have a hart, which
// spin before they sleep, and on threads that Comity never saw.
#include "comity/thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct locked {
    explicit locked(pthread_mutex_t &m) : mutex(m) { pthread_mutex_lock(&mutex); }
    ~locked() { pthread_mutex_unlock(&mutex); }
    pthread_mutex_t &mutex;
};

timespec after_ms(clockid_t clock, long ms) {
    timespec t{};
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1'000'000;
    t.tv_sec += t.tv_nsec / 1'000'000'000;
    t.tv_nsec %= 1'000'000'000;
    return t;
}

bool before(const timespec &a, const timespec &b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// "bare": threads of the C library's; "with_hart": they have been in Comity and keep a hart, while there are any.
class condition : public testing::TestWithParam<const char *> {
protected:
    template <class F> std::thread start(F f) {
        return std::thread([f, meets = std::string(GetParam()) == "with_hart"] {
            if (meets && comity_threads_begin() == 0) comity_threads_end();
            f();
        });
    }
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
};

TEST(condition_symbols, are_those_that_the_run_is_about) {
    const char *expected = std::getenv("COMITY_EXPECTED_LIBRARY");
    ASSERT_TRUE(expected);
    for (const char *name : {"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait",
                             "pthread_cond_signal", "pthread_cond_broadcast", "pthread_cond_destroy"}) {
        Dl_info info{};
        ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, name), &info), 0) << name;
        EXPECT_TRUE(std::strstr(info.dli_fname, expected)) << name << " is in " << info.dli_fname;
    }
}

TEST_P(condition, a_signal_wakes_the_thread_that_waits) {
    int turn = 0;
    constexpr int rounds = 5000;
    const auto player = [&](int me) {
        for (int i = 0; i < rounds; ++i) {
            locked l(mutex);
            while (turn != me) ASSERT_EQ(pthread_cond_wait(&cond, &mutex), 0);
            turn = 1 - me;
            ASSERT_EQ(pthread_cond_signal(&cond), 0);
        }
    };
    std::thread a = start([&] { player(0); }), b = start([&] { player(1); });
    a.join();
    b.join();
    EXPECT_EQ(turn, 0);
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);
}

TEST_P(condition, a_broadcast_wakes_everybody) {
    constexpr int waiters = 6, rounds = 200;
    pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
    int here = 0, round = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < waiters; ++i)
        threads.push_back(start([&] {
            for (int r = 0; r < rounds; ++r) {
                locked l(mutex);
                if (++here == waiters) pthread_cond_signal(&arrived);
                while (round == r) pthread_cond_wait(&cond, &mutex);
            }
        }));
    for (int r = 0; r < rounds; ++r) {
        locked l(mutex);
        while (here != waiters) pthread_cond_wait(&arrived, &mutex);
        here = 0;
        ++round;
        pthread_cond_broadcast(&cond);
    }
    for (auto &t : threads) t.join();
    EXPECT_EQ(here, 0);
}

TEST_P(condition, a_signal_that_nobody_waits_for_is_forgotten) {
    start([&] {
        locked l(mutex);
        pthread_cond_signal(&cond);
        pthread_cond_broadcast(&cond);
        const timespec limit = after_ms(CLOCK_REALTIME, 20);
        EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &limit), ETIMEDOUT);
    }).join();
}

TEST_P(condition, deadlines_are_kept_on_both_clocks) {
    start([&] {
        pthread_condattr_t attribute;
        pthread_cond_t monotonic;
        pthread_condattr_init(&attribute);
        ASSERT_EQ(pthread_condattr_setclock(&attribute, CLOCK_MONOTONIC), 0);
        ASSERT_EQ(pthread_cond_init(&monotonic, &attribute), 0);
        pthread_condattr_destroy(&attribute);
        locked l(mutex);
        for (int again = 0; again < 3; ++again) {
            timespec limit = after_ms(CLOCK_REALTIME, 10), now{};
            EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &limit), ETIMEDOUT);
            clock_gettime(CLOCK_REALTIME, &now);
            EXPECT_FALSE(before(now, limit));
            limit = after_ms(CLOCK_MONOTONIC, 10);
            EXPECT_EQ(pthread_cond_timedwait(&monotonic, &mutex, &limit), ETIMEDOUT);
            clock_gettime(CLOCK_MONOTONIC, &now);
            EXPECT_FALSE(before(now, limit));
            for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
                limit = after_ms(clock, 10);
                EXPECT_EQ(pthread_cond_clockwait(&cond, &mutex, clock, &limit), ETIMEDOUT);
                clock_gettime(clock, &now);
                EXPECT_FALSE(before(now, limit));
            }
        }
        EXPECT_EQ(pthread_cond_destroy(&monotonic), 0);
    }).join();
}

TEST_P(condition, a_deadline_that_has_passed_or_is_none_returns_at_once) {
    start([&] {
        locked l(mutex);
        for (const timespec passed : {timespec{0, 0}, timespec{-1, 0}, timespec{1, 999'999'999}})
            EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &passed), ETIMEDOUT);
        for (const timespec none : {timespec{0, 1'000'000'000}, timespec{0, -1}})
            EXPECT_EQ(pthread_cond_timedwait(&cond, &mutex, &none), EINVAL);
        const timespec limit = after_ms(CLOCK_REALTIME, 10);
        EXPECT_EQ(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &limit), EINVAL);
    }).join();
}

TEST_P(condition, the_mutex_is_held_again_however_the_wait_ends) {
    start([&] {
        pthread_mutexattr_t attribute;
        pthread_mutex_t checked;
        pthread_mutexattr_init(&attribute);
        pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&checked, &attribute);
        pthread_mutexattr_destroy(&attribute);
        EXPECT_EQ(pthread_cond_wait(&cond, &checked), EPERM); // not held: an error-checking mutex says so
        pthread_mutex_lock(&checked);
        const timespec limit = after_ms(CLOCK_REALTIME, 5);
        EXPECT_EQ(pthread_cond_timedwait(&cond, &checked, &limit), ETIMEDOUT);
        EXPECT_EQ(pthread_mutex_unlock(&checked), 0);
        pthread_mutex_destroy(&checked);
    }).join();
}

// One of two waiters is cancelled while a signal is on its way: the signal reaches the other, or both are gone.
TEST_P(condition, a_cancelled_waiter_holds_the_mutex_and_swallows_no_signal) {
    struct shared {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        int waiting = 0, tickets = 0, cancelled = 0;
        static void on_cancel(void *argument) {
            auto *s = static_cast<shared *>(argument);
            ++s->cancelled;
            EXPECT_EQ(pthread_mutex_trylock(&s->mutex), EBUSY);
            EXPECT_EQ(pthread_mutex_unlock(&s->mutex), 0);
        }
        static void *wait(void *argument) {
            auto *s = static_cast<shared *>(argument);
            if (comity_threads_begin() == 0) comity_threads_end();
            pthread_mutex_lock(&s->mutex);
            ++s->waiting;
            pthread_cleanup_push(on_cancel, s);
            while (s->tickets == 0) pthread_cond_wait(&s->cond, &s->mutex);
            --s->tickets;
            pthread_cleanup_pop(0);
            pthread_mutex_unlock(&s->mutex);
            return nullptr;
        }
    };
    for (int again = 0; again < 100; ++again) {
        shared s;
        pthread_t first, second;
        ASSERT_EQ(pthread_create(&first, nullptr, shared::wait, &s), 0);
        ASSERT_EQ(pthread_create(&second, nullptr, shared::wait, &s), 0);
        for (bool both = false; !both; sched_yield()) {
            locked l(s.mutex);
            both = s.waiting == 2;
        }
        if (again % 2) pthread_cancel(first);
        {
            locked l(s.mutex);
            ++s.tickets;
            pthread_cond_signal(&s.cond);
        }
        if (again % 2 == 0) pthread_cancel(first);
        pthread_join(first, nullptr); // its result is PTHREAD_CANCELED also when the request came during its end
        const bool was_cancelled = s.cancelled == 1;
        if (!was_cancelled) { // it was faster: another ticket for the other
            locked l(s.mutex);
            ++s.tickets;
            pthread_cond_signal(&s.cond);
        }
        pthread_join(second, nullptr);
        EXPECT_EQ(s.tickets, 0);
        EXPECT_EQ(s.cancelled, was_cancelled);
        EXPECT_EQ(pthread_cond_destroy(&s.cond), 0);
    }
}

// The C library ends a wait that a handler has interrupted in the handler's middle, whatever that has called: here a
// function that one of Comity's stands before, through which the stack is unwound.
TEST_P(condition, a_waiter_is_cancelled_amid_a_handler_that_asks_for_the_time) {
    static std::atomic<bool> handles;
    struct sigaction to {
    }, was{};
    to.sa_handler = [](int) {
        constexpr long most_ms = 20;
        const timespec end = after_ms(CLOCK_MONOTONIC, most_ms);
        handles = true;
        for (timespec now{}; now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec);)
            clock_gettime(CLOCK_MONOTONIC, &now);
    };
    sigaction(SIGUSR1, &to, &was);
    struct shared {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        static void *wait(void *argument) {
            auto *s = static_cast<shared *>(argument);
            pthread_mutex_lock(&s->mutex);
            for (;;) pthread_cond_wait(&s->cond, &s->mutex);
        }
    };
    for (int again = 0; again < 50; ++again) {
        shared s;
        pthread_t waiter;
        void *result = nullptr;
        ASSERT_EQ(pthread_create(&waiter, nullptr, shared::wait, &s), 0);
        usleep(1000); // mostly it sleeps then
        handles = false;
        pthread_kill(waiter, SIGUSR1);
        while (!handles) sched_yield();
        pthread_cancel(waiter);
        pthread_join(waiter, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
    }
    sigaction(SIGUSR1, &was, nullptr);
}

// POSIX: a request that is there when a cancellation point is called is acted upon before it returns, also where the
// signal is quick. Both threads hand the turn over for ever; one is cancelled.
TEST_P(condition, a_thread_whose_waits_are_all_short_can_be_cancelled) {
    // The C library's waits look for requests only when they sleep: when they do is a matter of luck.
    constexpr int enough = 1'000'000;
    struct shared {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        std::atomic<bool> requested{false}, over{false};
        int after = 0; // waits that began after the request
        static void release(void *argument) {
            auto *s = static_cast<shared *>(argument);
            s->over = true;
            pthread_mutex_unlock(&s->mutex);
        }
        static void *wait(void *argument) {
            auto *s = static_cast<shared *>(argument);
            if (comity_threads_begin() == 0) comity_threads_end();
            pthread_mutex_lock(&s->mutex);
            pthread_cleanup_push(release, s);
            while (s->after < enough) {
                s->after += s->requested;
                pthread_cond_wait(&s->cond, &s->mutex);
            }
            pthread_cleanup_pop(1);
            return nullptr;
        }
    };
    for (int again = 0; again < 25; ++again) {
        shared s;
        pthread_t waiter;
        ASSERT_EQ(pthread_create(&waiter, nullptr, shared::wait, &s), 0);
        start([&] {
            for (int i = 0; !s.over; ++i) { // without pause: a wait mostly ends in its spin
                if (i == 10'000) {
                    pthread_cancel(waiter);
                    s.requested = true;
                }
                locked l(s.mutex);
                pthread_cond_signal(&s.cond);
            }
        }).join();
        void *result = nullptr;
        pthread_join(waiter, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
        const bool ours = std::strstr(std::getenv("COMITY_EXPECTED_LIBRARY"), "comity");
        EXPECT_LE(s.after, ours ? 1 : enough - 1);
    }
}

TEST_P(condition, may_be_destroyed_under_the_mutex_after_a_broadcast) {
    constexpr int waiters = 3;
    for (int again = 0; again < 200; ++again) {
        alignas(pthread_cond_t) unsigned char memory[sizeof(pthread_cond_t)];
        auto *c = reinterpret_cast<pthread_cond_t *>(memory);
        pthread_cond_init(c, nullptr);
        int waiting = 0;
        bool over = false;
        std::vector<std::thread> threads;
        for (int i = 0; i < waiters; ++i)
            threads.push_back(start([&] {
                locked l(mutex);
                ++waiting;
                while (!over) pthread_cond_wait(c, &mutex);
            }));
        for (bool all = false; !all; sched_yield()) {
            locked l(mutex);
            if (!(all = waiting == waiters)) continue;
            over = true;
            pthread_cond_broadcast(c);
            ASSERT_EQ(pthread_cond_destroy(c), 0);
            std::memset(memory, 0x5a, sizeof memory);
        }
        for (auto &t : threads) t.join();
        for (const unsigned char byte : memory) ASSERT_EQ(byte, 0x5a);
    }
}

TEST_P(condition, works_between_processes) {
    struct shared {
        pthread_mutex_t mutex;
        pthread_cond_t cond;
        int turn;
    };
    void *memory = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto *s = static_cast<shared *>(memory);
    pthread_mutexattr_t of_mutex;
    pthread_condattr_t of_cond;
    pthread_mutexattr_init(&of_mutex);
    pthread_condattr_init(&of_cond);
    pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setpshared(&of_cond, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->mutex, &of_mutex);
    pthread_cond_init(&s->cond, &of_cond);
    const auto play = [s](int me) {
        for (int i = 0; i < 200; ++i) {
            locked l(s->mutex);
            while (s->turn != me) pthread_cond_wait(&s->cond, &s->mutex);
            s->turn = 1 - me;
            pthread_cond_signal(&s->cond);
        }
    };
    const pid_t child = fork();
    if (child == 0) {
        play(1);
        _exit(0);
    }
    play(0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(pthread_cond_destroy(&s->cond), 0);
    munmap(memory, sizeof(shared));
}

// The C++ library's, with waits that end in all ways at once.
TEST_P(condition, a_bounded_queue_loses_nothing) {
    std::mutex m;
    std::condition_variable not_empty, not_full;
    std::deque<int> queue;
    constexpr int producers = 3, each = 2000;
    std::atomic<long> sum{0};
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; ++p)
        threads.push_back(start([&, p] {
            for (int i = 0; i < each; ++i) {
                std::unique_lock l(m);
                not_full.wait(l, [&] { return queue.size() < 4; });
                queue.push_back(p * each + i);
                l.unlock(); // half of the signals are sent without the mutex
                not_empty.notify_one();
            }
        }));
    for (int c = 0; c < 3; ++c)
        threads.push_back(start([&] {
            while (taken < producers * each) {
                std::unique_lock l(m);
                if (!not_empty.wait_for(l, std::chrono::microseconds(300), [&] { return !queue.empty(); })) continue;
                sum += queue.front();
                queue.pop_front();
                ++taken;
                not_full.notify_one();
            }
        }));
    for (auto &t : threads) t.join();
    constexpr long n = producers * each;
    EXPECT_EQ(sum, n * (n - 1) / 2);
}

INSTANTIATE_TEST_SUITE_P(threads, condition, testing::Values("bare", "with_hart"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
