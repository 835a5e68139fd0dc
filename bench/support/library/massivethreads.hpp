// How the benchmarks use MassiveThreads: README.md says what the words are. Child-first, as it comes.
#pragma once

#include <myth/myth.h>

#include <cstddef>

namespace bench::library {

inline constexpr const char *name = "massivethreads";
inline bool child_first = true;

// Runs f in the first thread beside workers - 1 other workers.
inline constexpr auto in_workers = [](int workers, auto f) {
    myth_globalattr_t attributes;
    myth_globalattr_init(&attributes);
    myth_globalattr_set_n_workers(&attributes, static_cast<std::size_t>(workers));
    attributes.child_first = child_first;
    myth_init_ex(&attributes);
    f();
    myth_fini();
};

struct threads {
    using handle = myth_thread_t;
    template <void (*body)(void *)> static void create(handle &thread, void *argument) {
        auto run = [](void *p) -> void * {
            body(p);
            return nullptr;
        };
        thread = myth_create(run, argument);
    }
    static void join(handle thread) { myth_join(thread, nullptr); }
    static void yield() { myth_yield(); }
};

class mutex {
public:
    mutex() { myth_mutex_init(&mutex_, nullptr); }
    void lock() { myth_mutex_lock(&mutex_); }
    void unlock() { myth_mutex_unlock(&mutex_); }

private:
    friend class condition;
    myth_mutex_t mutex_;
};

class condition {
public:
    condition() { myth_cond_init(&condition_, nullptr); }
    void wait(mutex &locked) { myth_cond_wait(&condition_, &locked.mutex_); }
    void signal() { myth_cond_signal(&condition_); }
    void broadcast() { myth_cond_broadcast(&condition_); }

private:
    myth_cond_t condition_;
};

class barrier {
public:
    explicit barrier(int count) { myth_barrier_init(&barrier_, nullptr, count); }
    void wait() { myth_barrier_wait(&barrier_); }

private:
    myth_barrier_t barrier_;
};

class event {
public:
    void wait() {
        mutex_.lock();
        while (!set_) condition_.wait(mutex_);
        mutex_.unlock();
    }
    void set() {
        mutex_.lock();
        set_ = true;
        condition_.broadcast();
        mutex_.unlock();
    }

private:
    mutex mutex_;
    condition condition_;
    bool set_ = false;
};

} // namespace bench::library
