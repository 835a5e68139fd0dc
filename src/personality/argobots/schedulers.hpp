// Schedulers: the predefined ones, their life, and how a stream without work sleeps. Protocol "Sleeping": README.md.
#pragma once

#include "personality/argobots/object.hpp"

namespace comity::abt {

// ABT_SUCCESS, ABT_ERR_MEM, ABT_ERR_INV_SCHED_PREDEF, or what the program's init says. `pools` may hold nulls, for
// which pools are made.
int make_scheduler(const ABT_sched_def &def, int num_pools, const ABT_pool *pools, ABT_sched_config config,
                   bool automatic, scheduler *&made) noexcept;
int make_scheduler(ABT_sched_predef kind, int num_pools, const ABT_pool *pools, ABT_sched_config config,
                   scheduler *&made) noexcept;
void free_scheduler(scheduler *d) noexcept;
// False: it is in use already.
bool take_into_use(scheduler *d, scheduler::use as) noexcept;
// Makes the scheduler's work unit. False: no memory.
bool make_unit_of(scheduler *d, unit_kind kind) noexcept;
// The work unit of a scheduler that stood in a pool has ended.
void scheduler_ends(scheduler *d) noexcept;

bool has_to_stop(scheduler *d) noexcept;
void ask(scheduler *d, std::uint32_t what) noexcept;

// The loop of a predefined scheduler, or the program's own.
void run_scheduler(scheduler *d) noexcept;
// What a scheduler does now and then: requests, others that wait for the hart, and sleep when there is nothing to do.
void check_events(stream *s, scheduler *d) noexcept;

// The program's scheduler runs something: it is not idle.
inline void note_work(scheduler *d) noexcept {
    d->idle_checks = 0;
    d->idle_since = 0;
    d->nap_ns = 0;
}

// The stream's main scheduler is wanted: wakes it if it sleeps. Any thread.
void wake(stream *s) noexcept;
// Takes a work unit out of a pool, waiting for one until a deadline (now_ns). Null: none came. May switch.
thread *pop_wait(pool *p, ABT_pool_context op, std::int64_t deadline) noexcept;
// For those who look again and again: lets others run. May switch.
void pass_time() noexcept;

// From config.cpp: the value for a key; false: there is none.
bool read_config(ABT_sched_config config, int key, void *value) noexcept;

} // namespace comity::abt
