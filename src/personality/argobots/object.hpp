// What stands behind the handles: streams, work units, schedulers and pools. Who may touch what: README.md.
#pragma once

#include "comity/argobots/abt.h"
#include "core/carrier.hpp"
#include "core/spinlock.hpp"
#include "personality/argobots/waiting.hpp"
#include "sys/cpu_set.hpp"
#include "sys/own_count.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::abt {

using core::carrier;
using core::context;

struct pool;
struct scheduler;
struct stream;
struct key_values;

// What a work unit was asked to do when it is next taken up.
inline constexpr std::uint32_t to_cancel = 1, to_migrate = 2;

enum class unit_kind : std::uint8_t {
    ult,
    tasklet,
    main_ult,       // the context that called ABT_init
    main_scheduler, // of a stream: on the stream's own context, in no pool
};

// A work unit: ULT or tasklet.
struct thread {
    thread *next = nullptr, *prev = nullptr; // in a built-in pool, under its lock
    pool *home = nullptr;                    // the associated pool
    context *stack = nullptr;                // null: a tasklet, or not started, or ended
    void (*fn)(void *) = nullptr;
    void *arg = nullptr;
    thread *parent = nullptr; // who took it up, and goes on when it stops
    stream *on = nullptr;     // where it runs, or ran last
    std::atomic<int> state{ABT_THREAD_STATE_READY};
    std::atomic<std::uint32_t> requests{0};
    std::atomic<waiter *> joiner{nullptr}; // who waits for its end; ended_mark() when it has come
    std::atomic<bool> pooled{false};       // in its pool; written by whoever pushes or pops it
    unit_kind kind = unit_kind::ult;
    std::atomic<bool> suspended{false}; // by itself, and not by an object; written by itself and whoever resumes it
    bool named = true;
    bool called = false;    // taken up by core::call, and may return
    bool own_stack = false; // the context's size or memory is the unit's own: not to be kept for others
    std::atomic<bool> migratable{true};
    ABT_unit unit = ABT_UNIT_NULL; // what its pool knows it by
    std::size_t stack_size = 0;
    void *stack_address = nullptr; // the program's memory; null: ours
    scheduler *runs = nullptr;     // the scheduler whose work unit this is
    std::atomic<key_values *> values{nullptr};
    void (*on_migration)(ABT_thread, void *) = nullptr;
    void *migration_arg = nullptr;
    std::atomic<pool *> migrates_to{nullptr};
    std::atomic<std::uint64_t> id{0}; // 0: nobody has asked yet

    bool is_tasklet() const noexcept { return kind == unit_kind::tasklet; }
    bool has_ended() const noexcept {
        return state.load(std::memory_order_acquire) == ABT_THREAD_STATE_TERMINATED; // acquire[abt-state]
    }
};

// Marks `joiner` of what has ended.
inline waiter *ended_mark() noexcept {
    static waiter mark;
    return &mark;
}

// What a pool of the program's own is made of: both ways of defining one.
struct user_functions {
    ABT_pool_user_create_unit_fn create_unit = nullptr;
    ABT_pool_user_free_unit_fn free_unit = nullptr;
    ABT_pool_user_is_empty_fn is_empty = nullptr;
    ABT_pool_user_pop_fn pop = nullptr;
    ABT_pool_user_push_fn push = nullptr;
    ABT_pool_user_init_fn init = nullptr;
    ABT_pool_user_free_fn free = nullptr;
    ABT_pool_user_get_size_fn get_size = nullptr;
    ABT_pool_user_pop_wait_fn pop_wait = nullptr;
    ABT_pool_user_pop_many_fn pop_many = nullptr;
    ABT_pool_user_push_many_fn push_many = nullptr;
    ABT_pool_user_print_all_fn print_all = nullptr;
};

enum class pool_kind : std::uint8_t { fifo, fifo_wait, randws, user, user_by_structure };

struct pool {
    pool_kind kind = pool_kind::fifo;
    bool automatic = false; // freed with its last scheduler
    ABT_pool_access access = ABT_POOL_ACCESS_MPMC;
    int id = 0;
    core::spinlock lock;
    thread *first = nullptr, *last = nullptr; // built-in, under lock
    sys::own_count<std::size_t> size;         // built-in; written under lock
    std::atomic<std::int32_t> blocked{0};     // associated work units that wait for something
    std::atomic<std::int32_t> schedulers{0};  // that have it
    void *data = nullptr;                     // the program's
    user_functions user;
    ABT_pool_def structure{};
    sleepers asleep; // who waits for it to be filled

    bool built_in() const noexcept { return kind < pool_kind::user; }
};

inline constexpr std::uint32_t sched_finish = 1, sched_exit = 2, sched_replace = 4;
inline constexpr std::uint32_t stream_moves = 8; // of streams only: `place` has changed

struct scheduler {
    enum class use : std::uint8_t { none, main, in_pool };
    std::atomic<use> used{use::none};
    bool automatic = false;
    bool predefined = false;
    bool random = false;    // RANDWS
    unsigned frequency = 0; // how many work units between two looks at the events
    std::atomic<std::uint32_t> requests{0};
    int num_pools = 0;
    pool **pools = nullptr;
    ABT_sched_def def{};
    void *data = nullptr; // the program's
    thread *unit = nullptr;
    scheduler *replaced_by = nullptr; // and who waits for that; by the stream's own work unit
    thread *replacer = nullptr;
    sleeper *asleep_in = nullptr; // one for each pool
    unsigned idle_checks = 0;     // calls of check_events since something ran
    std::uint64_t idle_since = 0; // ticks; 0: it is not
    std::int64_t nap_ns = 0;      // how long it slept last for lack of work, on its own account
    std::uint64_t seed = 0;
};

// The CPUs on which a stream shall run. One that was replaced lives as long as the stream: a kernel thread may be
// there.
struct stream_place {
    sys::cpu_set cpus;
    std::uint64_t id; // never another one's
    stream_place *before;
};

struct stream {
    context *stack = nullptr;  // the main scheduler runs on it
    thread *current = nullptr; // the work unit that runs
    scheduler *main = nullptr;
    stream *next = nullptr; // in the list of all, under the runtime's lock
    int rank = 0;
    bool primary = false;
    std::atomic<int> state{ABT_XSTREAM_STATE_RUNNING};
    std::atomic<waiter *> joiner{nullptr}; // as in thread
    std::uint64_t since = 0;               // ticks: when it got its hart
    core::spinlock lock;
    waiter *sleeping = nullptr; // under lock: the main scheduler sleeps, and this wakes it
    std::atomic<std::uint32_t> requests{0};
    unsigned passed = 0;                        // see pass_by
    std::atomic<stream_place *> place{nullptr}; // null: anywhere; written under lock
    stream_place *places = nullptr;             // all there were, under lock
    // For use again; whoever runs in the stream.
    context *kept_stacks = nullptr;
    thread *kept_threads = nullptr;
    unsigned kept_stack_count = 0, kept_thread_count = 0;
};

// ---- Handles

inline thread *of(ABT_thread h) noexcept { return reinterpret_cast<thread *>(h); }
inline pool *of(ABT_pool h) noexcept { return reinterpret_cast<pool *>(h); }
inline scheduler *of(ABT_sched h) noexcept { return reinterpret_cast<scheduler *>(h); }
inline stream *of(ABT_xstream h) noexcept { return reinterpret_cast<stream *>(h); }
inline ABT_thread handle(thread *t) noexcept { return reinterpret_cast<ABT_thread>(t); }
inline ABT_pool handle(pool *p) noexcept { return reinterpret_cast<ABT_pool>(p); }
inline ABT_sched handle(scheduler *s) noexcept { return reinterpret_cast<ABT_sched>(s); }
inline ABT_xstream handle(stream *s) noexcept { return reinterpret_cast<ABT_xstream>(s); }

} // namespace comity::abt
