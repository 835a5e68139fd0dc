// Parallel regions: how many ranks, starting them, and what is left to do when they have returned.
#pragma once

#include "model/spmd/team.hpp"
#include "personality/openmp/abi_traits.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

namespace comity::openmp {

// num_threads as OpenMP 6.0 has it: a number for this level of nesting and one for each further in; strict: what is to
// be done if there are not as many.
struct num_threads_clause {
    unsigned listed = 0;
    unsigned ranks[32] = {}; // further ones are not known
    enum class outcome : std::uint8_t { as_many_as_there_are, warning, fatal } if_fewer = outcome::as_many_as_there_are;
    const char *message = nullptr; // the program's; null: none
};

struct region {
    region_function function;
    void *data;
    unsigned ranks = 0;                 // num_threads(n); 0: as the task's variables say. 1 also stands for if(0)
    unsigned most = no_limit;           // as many as there are sections: under dyn-var, no more than that
    const openmp::loop *loop = nullptr; // combined with a loop or sections
    taskgroup *group = nullptr;         // task reductions
    unsigned exactly = 0;               // not 0: that many ranks whatever the variables say, as a gang
    const abi_traits *abi = &gcc_abi;   // of who opens it
    std::uint8_t bind = 0;              // its proc_bind clause, an omp_proc_bind_t; 0: none
    const num_threads_clause *clause = nullptr; // lives as long as the region
    ompt::call_site at = {};                    // where the program opens it
    const void *known_as = nullptr; // the program's function, where `function` is an ABI's (region_memory.hpp)
};

// How many ranks a region opened by `t` now would have.
unsigned ranks_for(thread *t, unsigned wanted) noexcept;

// How many threads a region of t's may have under the limit (OMP_THREAD_LIMIT), at least 1.
unsigned left_of_limit(const thread *t) noexcept;
// Under a limit on threads: takes what is left of it for a region of `wanted` ranks; returns how many it may have. What
// was taken is to be given back.
unsigned take_from_limit(thread *t, unsigned wanted, unsigned limit) noexcept;
void give_to_limit(thread *t, unsigned ranks) noexcept;

// Runs the region on the caller as rank 0 and returns when all ranks have. May switch.
void run_region(thread *t, const region &r) noexcept;
// The same for regions whose number of ranks is settled (by ranks_for).
void run_region(thread *t, const region &r, unsigned ranks) noexcept;

// A region of one rank that its caller enters by one call and leaves by another, as LLVM's ABI has it: in between, the
// caller is that rank.
void begin_serial_region(thread *t) noexcept; // never switches
void end_serial_region(thread *t) noexcept;   // by the rank; waits for its tasks, and may switch then

// Waits until all ranks of the team are here and all its tasks are done. Runs tasks meanwhile. May switch.
void barrier(thread *t) noexcept;
// True if the region was cancelled; then not all ranks came.
bool barrier_or_cancel(thread *t) noexcept;
// At a barrier each group of so many ranks counts in a line of its own, if there is more than one; who is the last of
// them arrives for all. All in one line would wait for it one after the other. Where a hart has more ranks than that,
// they are a group: those that it is dealt, if all come.
inline constexpr unsigned ranks_in_group = 4;

// The rank has arrived, and what descends from its implicit task is done: the last one opens the barrier, and its
// caller is told so. Anybody, on its behalf.
bool count_arrival(const thread *t) noexcept;
// Nobody is at the barrier. By the parent, after the join.
void forget_arrivals(team *tm) noexcept;

// cancel: makes the ranks go to the end of the region; of the loop or sections; keeps tasks of the group from starting.
// Without effect where cancellation is off.
void cancel_region(thread *t) noexcept;
void cancel_share(thread *t) noexcept;
void cancel_group(thread *t) noexcept;
// Shall the caller go to the end of its region, of its loop (or region), of its task?
bool region_is_cancelled(const thread *t) noexcept;
bool share_is_cancelled(const thread *t) noexcept;
bool group_is_cancelled(const thread *t) noexcept;

} // namespace comity::openmp
