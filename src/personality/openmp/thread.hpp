// The data of a team and of its ranks. README.md says who may touch what, and when.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "personality/openmp/icv.hpp"
#include "personality/openmp/loop.hpp"
#include "personality/openmp/task.hpp"
#include "personality/openmp/task_queue.hpp"
#include "sync/wait_list.hpp"

namespace comity::openmp {

struct team;
struct work_share;
struct league;
struct placements;
struct abi_traits;
namespace ompt {
struct task_info;
struct team_info;
} // namespace ompt
namespace check {
struct nesting;
} // namespace check

inline constexpr std::uint32_t never_at_once = ~0U; // thread::at_once_depth

using region_function = void (*)(void *);

// What a construct says of the region or league that it opens; 0: nothing.
struct region_clauses {
    unsigned ranks = 0, teams = 0, thread_limit = 0;
};

// A rank of a team: what OpenMP calls a thread. The struct belongs to (team, rank) for as long as the team lives, so
// what hangs on it stays hot between regions. Only the rank itself writes it while a region runs.
struct alignas(64) thread {
    openmp::team *team = nullptr;  // never null in use; constant
    unsigned rank = 0;             // constant
    unsigned size = 1;             // of the team in this region
    openmp::task *task = nullptr;  // what it executes now: its implicit task or an explicit one
    openmp::team *child = nullptr; // the hot team of the regions that this rank opens

    std::uint64_t shares = 0;        // worksharing constructs (but single) that it met since the team was made
    std::uint64_t singles = 0;       // the same for single
    work_share *share = nullptr;     // the worksharing construct that it is in
    bool changed = false;            // the implicit task differs from what a region starts with
    bool made_tasks = false;         // it has queued some since the last barrier
    std::uint32_t at_once_depth = 0; // children of tasks that are as deep run at once (task_fast.hpp)
    // Up to here one cache line: all that a region without constructs touches.

    std::uint64_t trip = 0;                       // static schedule: how many chunks it had
    std::uint64_t chunk_begin = 0, chunk_end = 0; // of the iterations that it executes, for ordered and doacross
    const openmp::loop *loop = nullptr;           // that it is in: the slot's, or its own
    openmp::loop own_loop;                        // one of which each rank knows all

    unsigned number = 0;                 // of its own in the process; constant
    unsigned blas_ranks = 0;             // what it told OpenBLAS last (blas_caller.hpp)
    unsigned blis_ranks = 0;             // of its region for BLIS that runs, which has a hart for each; 0: none
    unsigned team_number = 0, teams = 1; // of the league (league.hpp), on the initial thread only
    work_share *iterations = nullptr;    // a doacross construct whose loop is not a slot's (doacross.cpp)
    region_clauses next;                 // of the construct that follows, in an ABI that says them before it
    void *call = nullptr;                // kmp/microtask.hpp: of the region that it opens
    unsigned call_room = 0;              // one more than the arguments that have room there
    std::uint8_t reduction = 0;          // the ABI's: how the reduction that it is in is done
    std::uint8_t next_bind = 0;          // proc_bind of the construct that follows, as `next`
    bool next_is_listed = false;         // the ABI has a num_threads_clause for it

    alignas(64) std::atomic<unsigned> group_arrived{0}; // at the barrier, of the group of ranks that begins with this

    alignas(64) std::byte block_header[16]; // as an explicit task has: its fields are in lines by who writes them
    openmp::task implicit;
    ompt::task_info *tool = nullptr;   // of the implicit task, for a tool
    check::nesting *nesting = nullptr; // what the rank is in, for COMITY_OMP_CHECK
    rank_tasks tasks;
};

static_assert(offsetof(thread, trip) == 64);

// A team of ranks and all that they share. It belongs to the thread that opens the region, its parent, which keeps it
// for the next one.
struct alignas(64) team {
    // Written by the parent before the ranks start, constant during the region. What changes with each region is in the
    // first cache line.
    region_function function = nullptr;
    void *data = nullptr;
    unsigned size = 1;
    unsigned active_level = 0;         // regions of more than one rank around this point, with this one
    bool displays = false;             // OMP_DISPLAY_AFFINITY
    bool gather = false;               // ranks wait for each other at the end, to help with tasks (region_memory.hpp)
    std::uint16_t group_size = 0;      // ranks arrive at the barrier in groups of so many (region.hpp); 0: they do not
    bool crowded = false;              // there are more of them than harts
    openmp::icvs icv;                  // the implicit tasks', until one of them changes its own
    taskgroup *group = nullptr;        // that the implicit tasks are in: task reductions
    work_share *first_share = nullptr; // a combined construct's loop: the ranks are in it from the start
    std::uint64_t shares = 0, singles = 0; // where the ranks' counts start
    std::uint64_t modes = 0;               // of floating point, of who opened the region (sys/float_modes.hpp)
    std::uint64_t id = 0;                  // never another team's; constant; 0 at a root

    std::uint32_t process = 0;               // core::generation() when the region began
    const unsigned *further_ranks = nullptr; // of regions further in, by a list of num_threads: ends with 0

    // Constant.
    unsigned level = 0;
    openmp::thread *parent = nullptr; // null at a root
    openmp::thread **threads = nullptr;
    unsigned capacity = 0;
    unsigned chunks = 0;
    const abi_traits *abi = nullptr; // of the region, where it displays
    placements *placed = nullptr;    // where the ranks are; null: nobody is bound (binding.hpp)
    const void *opened_by = nullptr; // code of the region; kept only for own_regions.hpp
    league *own_league = nullptr;    // at a root: hot, as the team is (league.hpp)
    ompt::team_info *tool = nullptr; // for a tool
    // Where the threads' memory is: from the second on each has as many as all before it, or is the last.
    openmp::thread *chunk[std::bit_width(most_ranks) + 1] = {};

    // Written by the ranks.
    alignas(64) std::atomic<std::uint64_t> singles_taken{0};
    std::atomic<work_share *> ring{nullptr};
    std::atomic<void *> copyprivate{nullptr};
    std::atomic<bool> loop_cancelled{false}; // one that has no slot; until the barrier at its end

    alignas(64) std::atomic<unsigned> arrived{0}; // at the barrier: ranks, or groups of them
    sync::wait_list idle;                         // ranks in a barrier: for its opening, and for tasks

    // Read all the time by those who wait in a barrier.
    alignas(64) std::atomic<unsigned> generation{0}; // of the barrier: how often it opened
    std::atomic<bool> makes_tasks{false};
    std::atomic<bool> stands_by{false}; // ranks may stand by at the barrier, who could help with tasks
    std::atomic<bool> cancelled{false};

    alignas(64) team_tasks tasks;
    std::atomic<unsigned> busy{1}; // at a root: threads in the contention group; kept only under a thread limit

    // ordered and doacross: ranks that wait for a chunk or an iteration, by its number, so that its end wakes hardly
    // anybody who waits for another one.
    alignas(64) sync::wait_list turns[16];
    sync::wait_list &turns_of(std::uint64_t number) noexcept { return turns[number % std::size(turns)]; }
};

static_assert(offsetof(team, group) == 64);

// The calling context's thread, in its own thread-local storage. On a thread that never used OpenMP: `nobody`, which
// reads as rank 0 of a team of one and is never written.
extern __thread thread *self __attribute__((tls_model("initial-exec")));
extern thread nobody;

// How many threads have been made so far: a number larger than each one's. Any thread.
unsigned threads_known() noexcept;

// Makes the caller an initial thread. Aborts when there is no memory.
thread *make_root() noexcept;

// An initial thread that is nobody's yet, and its end.
thread *new_root() noexcept;
void free_root(thread *t) noexcept;

// The calling thread, made an initial thread on first use. Any thread or context; never switches.
inline thread *current() noexcept {
    thread *t = self;
    if (t == &nobody) [[unlikely]]
        return make_root();
    return t;
}

// The thread outside of all regions that the caller's regions began with: a league's numbers are its.
inline const thread *initial_thread() noexcept {
    const thread *t = self;
    while (t->team->parent) t = t->team->parent;
    return t;
}

// The variables of the current task, to be read.
inline const icvs &icv_of(const thread *t) noexcept { return *t->task->icv; }
// The same to be changed: from here on the task has its own.
icvs &own_icv() noexcept;

// The thread's hot team with at least `size` threads; aborts when there is no memory.
team *child_team(thread *parent, unsigned size) noexcept;

} // namespace comity::openmp
