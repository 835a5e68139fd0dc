// The internal control variables (OpenMP 5.1, section 2.4): those that every task has its own of, and those of the
// process.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/spmd/team.hpp"

namespace comity::openmp {

// The numbers are the compilers' and those of omp_sched_t.
enum class schedule_kind : std::uint8_t { runtime = 0, fixed = 1, dynamic = 2, guided = 3, automatic = 4 };

inline constexpr unsigned most_levels = 255; // what max-active-levels can hold; "unlimited"
inline constexpr unsigned most_ranks = spmd::most_ranks;
inline constexpr int longest_spin_us = 1'000'000; // "active"
inline constexpr unsigned no_limit = 0x7fffffff;

// A data environment's variables. A task inherits its parent's; the implicit tasks of a region share one copy until one
// of them changes something (task.hpp).
struct icvs {
    unsigned num_threads = 0; // of the next region; 0: as many as there are harts
    unsigned thread_limit = no_limit;
    int chunk = 1; // of schedule(runtime); 0: the kind's default
    schedule_kind schedule = schedule_kind::dynamic;
    bool schedule_given = false;       // by the environment or the program; else each ABI has its own default
    bool monotonic = false;            // as omp_get_schedule reports it; loops are monotonic anyway
    bool implicitly_monotonic = false; // static without a modifier, by the environment
    bool dynamic = false;
    std::uint8_t max_active_levels = 1;
    std::uint8_t bind = 0; // a bind_policy (binding.hpp)
    int default_device = 0;
    std::uintptr_t allocator = 1; // omp_default_mem_alloc
};

// What the environment said: read when the library is loaded, and again at the first use of OpenMP if it has changed by
// then (read_again). Nobody writes it afterwards but where noted.
struct process_icvs {
    icvs initial; // what every initial thread starts with; omp_set_* called before its first region writes its own copy

    static constexpr unsigned list_size = 32;
    unsigned num_threads[list_size] = {}; // OMP_NUM_THREADS=a,b,c: for each level of nesting
    unsigned num_threads_listed = 0;
    std::uint8_t bind[list_size] = {}; // OMP_PROC_BIND
    unsigned bind_listed = 0;
    bool binds = false;          // some ranks may be bound
    std::uint8_t teams_bind = 4; // KMP_TEAMS_PROC_BIND

    bool inherits_modes = true; // KMP_INHERIT_FP_CONTROL
    bool cancellation = false;
    // With cancellation, or with a tool: tasks are not made and run the shortest way. Written also where a tool is
    // found.
    bool careful = false;
    int max_task_priority = 0;
    std::uint64_t stack_size = 0; // 0: the default. Written also by kmp_set_stacksize
    enum class wait : std::uint8_t { unset, active, passive } wait_policy = wait::unset;
    enum class library_kind : std::uint8_t { serial = 1, turnaround, throughput } library = library_kind::throughput;
    int spin_us = -1; // how long a hart without work and a waiting rank spin; -1: nobody said
    bool display_affinity = false;
    enum class offload : std::uint8_t { disabled, usual, mandatory } target_offload = offload::usual; // LLVM's numbers
    // KMP_DETERMINISTIC_REDUCTION, KMP_FORCE_REDUCTION: as they were found; read at the first reduction, since a
    // process that has none says nothing of bad values.
    const char *deterministic_reduction = nullptr, *force_reduction = nullptr;
    bool own_regions = false;               // COMITY_OWN_REGIONS (own_regions.hpp)
    std::atomic<int> num_teams{0};          // omp_set_num_teams
    std::atomic<int> teams_thread_limit{0}; // omp_set_teams_thread_limit
};

extern process_icvs process;

// How many harts there are; the first call starts Comity. Any thread; never switches.
unsigned hart_count() noexcept;

} // namespace comity::openmp
