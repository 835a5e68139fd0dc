// How the benchmarks use Qthreads: README.md says what the words are. A thread is joined by reading the full word that
// it leaves; a full word is a lock as well.
#pragma once

#include <qthread/qthread.h>

#include <cstdlib>
#include <string>

#include "../demand.hpp"

namespace bench::library {

inline constexpr const char *name = "qthreads";

// Runs f in the first thread beside workers - 1 other workers.
inline constexpr auto in_workers = [](int workers, auto f) {
    setenv("QT_NUM_SHEPHERDS", std::to_string(workers).c_str(), 1);
    setenv("QT_NUM_WORKERS_PER_SHEPHERD", "1", 1); // more work with few of its schedulers only
    demand(qthread_initialize() == QTHREAD_SUCCESS, "Qthreads does not start");
    f();
    qthread_finalize();
};

struct threads {
    using handle = aligned_t;
    template <void (*body)(void *)> static void create(handle &word, void *argument) {
        auto run = [](void *p) -> aligned_t {
            body(p);
            return 0;
        };
        if (qthread_fork(run, argument, &word) != QTHREAD_SUCCESS) refuse("no thread could be made");
    }
    static void join(handle &word) { qthread_readFF(nullptr, &word); }
    static void yield() { qthread_yield(); }
};

class mutex {
public:
    void lock() { qthread_lock(&word_); }
    void unlock() { qthread_unlock(&word_); }

private:
    aligned_t word_ = 0;
};

class semaphore {
public:
    semaphore() { qthread_empty(&word_); }
    void acquire() { qthread_readFE(nullptr, &word_); }
    void release() { qthread_writeEF_const(&word_, 1); }

private:
    aligned_t word_ = 0;
};

class event {
public:
    event() { qthread_empty(&word_); }
    void wait() { qthread_readFF(nullptr, &word_); }
    void set() { qthread_fill(&word_); }

private:
    aligned_t word_ = 0;
};

} // namespace bench::library
