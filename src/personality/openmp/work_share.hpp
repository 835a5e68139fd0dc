// Worksharing constructs: loops, sections, and what else has data that the ranks of a team share while they are in it.
// Protocol and proof: README.md, "Worksharing".
#pragma once

#include <atomic>
#include <cstdint>

#include "core/spinlock.hpp"
#include "personality/openmp/loop.hpp"
#include "sync/wait_list.hpp"

namespace comity::openmp {

struct team;
struct thread;

// A loop of a doacross nest that the compiler does not number itself; both bounds belong to it.
struct doacross_loop {
    std::int64_t lower, upper, step;
};

// How far doacross loops have come.
struct doacross {
    unsigned dimensions = 0;
    std::uint64_t *inner = nullptr; // how many iterations of the flattened loop a step of each dimension is
    bool by_rank = false;           // progress is kept for each rank, else for each chunk
    std::uint64_t entries = 0;
    std::atomic<std::uint64_t> *progress = nullptr; // flattened iterations posted, plus 1; written by who executes them
    const doacross_loop *loops = nullptr;           // of a nest by value: then `progress` has a bit for each iteration
};

struct alignas(64) work_share {
    // 4 * construct + phase, where construct is the number of the construct that the slot is for. Whoever moves it from
    // `open` to `filling` writes the fields below it and then publishes them by `ready`. The lines after those are as
    // new when a slot is opened.
    std::atomic<std::uint64_t> state{0};
    openmp::loop loop;
    std::uintptr_t *reductions = nullptr;
    void *memory = nullptr; // zeroed, for the construct's own use; freed with it
    openmp::doacross doacross;

    // What ranks write while they take iterations, and when they leave: then the line is theirs from their last look.
    alignas(64) std::atomic<std::uint64_t> next{0}; // dynamic, guided: the first iteration not given out
    std::atomic<unsigned> left{0};                  // ranks that are done with it
    std::atomic<bool> cancelled{false};

    alignas(64) std::atomic<std::uint64_t> turn{
        0};                  // ordered: the chunk that begins here may execute its ordered regions
    sync::wait_list changed; // for who waits for the slot to be open, or ready
};

// Enters the next worksharing construct: t->share is its slot. True for the one rank that must fill the slot and then
// call publish_share. If the region was cancelled meanwhile: t->share is null and the result false. May switch.
bool enter_share(thread *t) noexcept;
void publish_share(thread *t) noexcept;
// Enters a loop. One with schedule(runtime) is shared, since the ranks' variables may differ; of any other each rank
// knows all by itself. May switch.
void enter_loop(thread *t, const loop &given) noexcept;
// Enters a loop as its first rank sees it. May switch.
void enter_shared_loop(thread *t, const loop &given) noexcept;
// Leaves the construct; its data is gone when the last rank has.
void leave_share(thread *t) noexcept;
void leave(team *tm, work_share *share) noexcept; // the same for a slot that is no longer t->share
// A combined construct: the slot of the ranks' first construct, to be filled on their behalf before they start.
work_share *preset_share(team *t) noexcept;
// Zeroed memory that lives as long as the construct. By the filling rank.
void *share_memory(work_share *share, std::size_t size) noexcept;
// By the parent after a cancelled region: forgets the constructs that not all ranks have left.
void reset_ring(team *t) noexcept;
void free_ring(team *t) noexcept;
void wake_ring(team *t) noexcept; // all who wait in a construct, after the region was cancelled

// single: is the caller the one rank that executes the construct?
bool take_single(thread *t) noexcept;

// loop.cpp: fills a slot.
void fill_loop(const thread *t, unsigned ranks, work_share *share, const loop &given) noexcept;
// The rank's next iterations, as values of the loop's variable: [from, to) rising, (to, from] falling. False when there
// are none. May switch if the loop is ordered.
bool next_chunk(thread *t, std::uint64_t &from, std::uint64_t &to) noexcept;
// ordered: returns when all earlier iterations have passed. May switch.
void await_turn(thread *t) noexcept;

// doacross.cpp
void start_doacross(thread *t, unsigned dimensions, const std::uint64_t *counts, schedule_kind kind,
                    std::uint64_t chunk) noexcept; // fills the slot
void post_iteration(thread *t, const std::uint64_t *indices) noexcept;
void await_iteration(thread *t, const std::uint64_t *indices) noexcept; // may switch
// The same where the loop itself is dealt out by other means, and iterations are named by the loops' variables. The
// nest is entered before the loop and left after it; waiting for an iteration that is not in the nest returns at once.
void enter_doacross(thread *t, unsigned dimensions, const doacross_loop *loops) noexcept; // may switch
void post_values(thread *t, const std::int64_t *values) noexcept;
bool await_values(thread *t, const std::int64_t *values) noexcept; // false: there is none; may switch
void leave_doacross(thread *t) noexcept;

} // namespace comity::openmp
