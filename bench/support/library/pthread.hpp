// How the benchmarks use POSIX threads: README.md says what the words are.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "../demand.hpp"

namespace bench::library {

inline constexpr const char *name = "pthread";

// Runs f on `workers` of the cores that the process may use.
inline constexpr auto in_workers = [](int workers, auto f) {
    cpu_set_t may, use;
    demand(sched_getaffinity(0, sizeof may, &may) == 0, "the affinity cannot be read");
    CPU_ZERO(&use);
    for (int core = 0, left = workers; core < CPU_SETSIZE && left > 0; ++core)
        if (CPU_ISSET(core, &may)) {
            CPU_SET(core, &use);
            --left;
        }
    demand(sched_setaffinity(0, sizeof use, &use) == 0, "the affinity cannot be set");
    f();
};

struct threads {
    using handle = pthread_t;
    template <void (*body)(void *)> static void create(handle &thread, void *argument) {
        auto run = [](void *p) -> void * {
            body(p);
            return nullptr;
        };
        if (pthread_create(&thread, nullptr, run, argument) != 0) refuse("no thread could be made");
    }
    static void join(handle thread) { pthread_join(thread, nullptr); }
    static void yield() { sched_yield(); }
};

class mutex {
public:
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    friend class condition;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class condition {
public:
    void wait(mutex &locked) { pthread_cond_wait(&condition_, &locked.mutex_); }
    void signal() { pthread_cond_signal(&condition_); }

private:
    pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

class barrier {
public:
    explicit barrier(int count) {
        demand(pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(count)) == 0, "no barrier");
    }
    void wait() { pthread_barrier_wait(&barrier_); }

private:
    pthread_barrier_t barrier_;
};

class semaphore {
public:
    semaphore() { demand(sem_init(&semaphore_, 0, 0) == 0, "no semaphore"); }
    void acquire() {
        while (sem_wait(&semaphore_) != 0) {
        }
    }
    void release() { sem_post(&semaphore_); }

private:
    sem_t semaphore_;
};

} // namespace bench::library
