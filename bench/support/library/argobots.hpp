// How the benchmarks use Argobots: README.md says what the words are. A stream has a pool of its own, and steals from
// the others; the pool of a lone stream is private. The pools are queues, or with BENCH_ARGOBOTS=randws in the
// environment deques, without which recursion goes breadth first. --tasklet 1 makes tasklets, which cannot block.
#pragma once

#include <abt.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../demand.hpp"

namespace bench::library {

inline constexpr const char *name = "argobots";

inline void check(int error) { demand(error == ABT_SUCCESS, "a call of Argobots failed"); }

inline std::vector<ABT_pool> pools; // one a stream

inline ABT_pool_kind pool_kind() {
    const char *wanted = std::getenv("BENCH_ARGOBOTS");
    return wanted && std::strcmp(wanted, "randws") == 0 ? ABT_POOL_RANDWS : ABT_POOL_FIFO;
}

inline ABT_pool own_pool() {
    if (pools.size() == 1) return pools[0];
    int rank = 0;
    check(ABT_self_get_xstream_rank(&rank));
    return pools[static_cast<std::size_t>(rank)];
}

// Runs f in the primary thread beside workers - 1 other streams, which steal from one another at random.
inline constexpr auto in_workers = [](int workers, auto f) {
    check(ABT_init(0, nullptr));
    const auto count = static_cast<std::size_t>(workers);
    const ABT_pool_access access = workers == 1 ? ABT_POOL_ACCESS_PRIV : ABT_POOL_ACCESS_MPMC;
    for (std::size_t i = 0; i < count; ++i) {
        pools.emplace_back();
        check(ABT_pool_create_basic(pool_kind(), access, ABT_TRUE, &pools[i]));
    }
    std::vector<ABT_xstream> streams(count);
    check(ABT_xstream_self(&streams[0]));
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<ABT_pool> order; // its own first, then the victims
        for (std::size_t j = 0; j < count; ++j) order.push_back(pools[(i + j) % count]);
        const ABT_sched_predef kind = workers == 1 ? ABT_SCHED_BASIC : ABT_SCHED_RANDWS;
        if (i == 0)
            check(ABT_xstream_set_main_sched_basic(streams[0], kind, workers, order.data()));
        else
            check(ABT_xstream_create_basic(kind, workers, order.data(), ABT_SCHED_CONFIG_NULL, &streams[i]));
    }
    f();
    for (std::size_t i = 1; i < count; ++i) {
        check(ABT_xstream_join(streams[i]));
        check(ABT_xstream_free(&streams[i]));
    }
    check(ABT_finalize());
};

template <bool is_tasklet> struct units {
    using handle = ABT_thread;
    template <void (*body)(void *)> static void create(handle &thread, void *argument) {
        if constexpr (is_tasklet)
            check(ABT_task_create(own_pool(), body, argument, &thread));
        else
            check(ABT_thread_create(own_pool(), body, argument, ABT_THREAD_ATTR_NULL, &thread));
    }
    static void join(handle &thread) { ABT_thread_free(&thread); } // joins first
    static void yield() { ABT_thread_yield(); }
};
using threads = units<false>;

class mutex {
public:
    mutex() { check(ABT_mutex_create(&mutex_)); }
    ~mutex() { ABT_mutex_free(&mutex_); }
    void lock() { ABT_mutex_lock(mutex_); }
    void unlock() { ABT_mutex_unlock(mutex_); }

private:
    friend class condition;
    ABT_mutex mutex_;
};

class condition {
public:
    condition() { check(ABT_cond_create(&condition_)); }
    ~condition() { ABT_cond_free(&condition_); }
    void wait(mutex &locked) { ABT_cond_wait(condition_, locked.mutex_); }
    void signal() { ABT_cond_signal(condition_); }

private:
    ABT_cond condition_;
};

class barrier {
public:
    explicit barrier(int count) { check(ABT_barrier_create(static_cast<std::uint32_t>(count), &barrier_)); }
    ~barrier() { ABT_barrier_free(&barrier_); }
    void wait() { ABT_barrier_wait(barrier_); }

private:
    ABT_barrier barrier_;
};

class event {
public:
    event() { check(ABT_eventual_create(0, &eventual_)); }
    ~event() { ABT_eventual_free(&eventual_); }
    void wait() { ABT_eventual_wait(eventual_, nullptr); }
    void set() { ABT_eventual_set(eventual_, nullptr, 0); }

private:
    ABT_eventual eventual_;
};

} // namespace bench::library
