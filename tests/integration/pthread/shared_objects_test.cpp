// Objects that processes share, which the C library serves: their waits are ended by requests to cancel the thread, and
// leave the harts to others. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

struct objects {
    sem_t sem;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t lock;
    objects() {
        sem_init(&sem, 1, 0);
        pthread_mutexattr_t m;
        pthread_mutexattr_init(&m);
        pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&mutex, &m);
        pthread_condattr_t c;
        pthread_condattr_init(&c);
        pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
        pthread_cond_init(&condition, &c);
        pthread_rwlockattr_t l;
        pthread_rwlockattr_init(&l);
        pthread_rwlockattr_setpshared(&l, PTHREAD_PROCESS_SHARED);
        pthread_rwlock_init(&lock, &l);
    }
};

void nap(std::chrono::milliseconds t) {
    const timespec by{t / 1s, std::chrono::nanoseconds(t % 1s).count()};
    nanosleep(&by, nullptr);
}

timespec later() {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 30;
    return t;
}

// Cancels a thread in the wait, after various times. True: it was cancelled.
template <class Wait> bool is_cancelled_in(Wait wait) {
    bool all = true;
    for (const auto after : {0ms, 1ms, 30ms}) {
        std::atomic<bool> begun{false};
        auto f = [&] {
            begun = true;
            wait();
        };
        const pthread_t t = start(f);
        while (!begun) nap(1ms);
        nap(after);
        pthread_cancel(t);
        void *result = nullptr;
        pthread_join(t, &result);
        all = all && result == PTHREAD_CANCELED;
    }
    return all;
}

// Unlocks the mutex as it goes, if that is locked.
class unlocks {
public:
    unlocks(pthread_mutex_t &m, int &unlocked) : m_(m), unlocked_(unlocked) {}
    ~unlocks() { unlocked_ += pthread_mutex_trylock(&m_) == EBUSY && pthread_mutex_unlock(&m_) == 0; }

private:
    pthread_mutex_t &m_;
    int &unlocked_;
};

} // namespace

TEST(shared_objects, let_threads_be_cancelled_that_wait_for_semaphores) {
    objects o;
    EXPECT_TRUE(is_cancelled_in([&] { sem_wait(&o.sem); }));
    EXPECT_TRUE(is_cancelled_in([&] {
        const timespec t = later();
        sem_timedwait(&o.sem, &t);
    }));
    sem_post(&o.sem);
    EXPECT_EQ(sem_trywait(&o.sem), 0);
}

TEST(shared_objects, let_threads_be_cancelled_that_wait_for_conditions) {
    objects o;
    int unlocked = 0;
    EXPECT_TRUE(is_cancelled_in([&] {
        pthread_mutex_lock(&o.mutex);
        const unlocks in_the_end(o.mutex, unlocked);
        for (;;) pthread_cond_wait(&o.condition, &o.mutex);
    }));
    EXPECT_EQ(unlocked, 3);
    EXPECT_TRUE(is_cancelled_in([&] {
        pthread_mutex_lock(&o.mutex);
        const unlocks in_the_end(o.mutex, unlocked);
        const timespec t = later();
        while (pthread_cond_timedwait(&o.condition, &o.mutex, &t) == 0) {
        }
    }));
    EXPECT_EQ(unlocked, 6);
    EXPECT_EQ(pthread_mutex_trylock(&o.mutex), 0);
}

// No cancellation points.
TEST(shared_objects, are_locked_also_by_threads_that_are_to_be_cancelled) {
    objects o;
    int locked = 0;
    std::atomic<int> waits{0};
    auto lock_mutex = [&] {
        ++waits;
        locked += pthread_mutex_lock(&o.mutex) == 0;
        pthread_mutex_unlock(&o.mutex);
        pthread_testcancel();
    };
    auto lock_lock = [&] {
        ++waits;
        locked += pthread_rwlock_wrlock(&o.lock) == 0;
        pthread_rwlock_unlock(&o.lock);
        pthread_testcancel();
    };
    pthread_mutex_lock(&o.mutex);
    pthread_rwlock_rdlock(&o.lock);
    const std::array<pthread_t, 2> all{start(lock_mutex), start(lock_lock)};
    while (waits != 2) nap(1ms);
    nap(10ms);
    for (const pthread_t t : all) pthread_cancel(t);
    nap(30ms);
    EXPECT_EQ(locked, 0);
    pthread_mutex_unlock(&o.mutex);
    pthread_rwlock_unlock(&o.lock);
    for (const pthread_t t : all) {
        void *result = nullptr;
        pthread_join(t, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
    }
    EXPECT_EQ(locked, 2);
}

TEST(shared_objects, end_a_wait_in_time) {
    objects o;
    const auto in = [](std::chrono::nanoseconds t) {
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        const auto sum = std::chrono::nanoseconds(now.tv_nsec) + t;
        return timespec{now.tv_sec + sum / 1s, (sum % 1s).count()};
    };
    auto f = [&] {
        timespec t = in(30ms);
        pthread_mutex_lock(&o.mutex);
        EXPECT_EQ(pthread_cond_timedwait(&o.condition, &o.mutex, &t), ETIMEDOUT);
        pthread_mutex_unlock(&o.mutex);
        t = in(30ms);
        EXPECT_EQ(sem_timedwait(&o.sem, &t), -1);
        EXPECT_EQ(errno, ETIMEDOUT);
        t.tv_nsec = -1;
        EXPECT_EQ(sem_timedwait(&o.sem, &t), -1);
        EXPECT_EQ(errno, EINVAL);
    };
    pthread_join(start(f), nullptr);
}

// Each hands on to the next, who waits.
TEST(shared_objects, hand_a_turn_around) {
    constexpr int threads = 4, rounds = 500;
    std::vector<objects> o(threads);
    const auto begun = std::chrono::steady_clock::now();
    const auto player = [&](int me) {
        for (int i = 0; i < rounds; ++i) {
            sem_wait(&o[me].sem);
            sem_post(&o[(me + 1) % threads].sem);
        }
    };
    auto first = [&] { player(0); };
    auto second = [&] { player(1); };
    auto third = [&] { player(2); };
    auto fourth = [&] { player(3); };
    const std::array<pthread_t, threads> all{start(first), start(second), start(third), start(fourth)};
    sem_post(&o[0].sem);
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s); // else a wait keeps its hart from others
}

TEST(shared_objects, exclude_threads_that_contend_for_them) {
    constexpr int threads = 6, rounds = 2000;
    objects o;
    int sum = 0, turn = 0;
    auto count = [&] {
        for (int i = 0; i < rounds; ++i) {
            pthread_mutex_lock(&o.mutex);
            ++sum;
            if (i % 16 == 0) sched_yield();
            pthread_mutex_unlock(&o.mutex);
            pthread_rwlock_wrlock(&o.lock);
            ++turn;
            pthread_rwlock_unlock(&o.lock);
        }
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < threads; ++i) all.push_back(start(count));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(sum, threads * rounds);
    EXPECT_EQ(turn, threads * rounds);
}

// Of a mutex that knows its owner, who is another process' thread, too.
TEST(shared_objects, a_recursive_mutex_excludes_threads_of_two_processes) {
    struct shared {
        pthread_mutex_t mutex;
        long counter;
    };
    auto *s =
        static_cast<shared *>(mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(MAP_FAILED, static_cast<void *>(s));
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&s->mutex, &a);
    constexpr int times = 5000;
    auto counts = [s] {
        for (int i = 0; i < times; ++i) {
            pthread_mutex_lock(&s->mutex);
            const long seen = s->counter;
            if (i % 8 == 0) sched_yield();
            s->counter = seen + 1;
            pthread_mutex_unlock(&s->mutex);
        }
    };
    const int child = fork();
    const pthread_t t = start(counts);
    pthread_join(t, nullptr);
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(2 * times, s->counter);
    munmap(s, sizeof(shared));
}
