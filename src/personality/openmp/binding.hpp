// Binding of ranks to places (OpenMP 5.1, section 2.6.2): which place each rank of a region is at, and what part of the
// places is its partition. That it runs there is spmd's business. README.md, "Places".
#pragma once

#include "model/spmd/team.hpp"
#include "personality/openmp/thread.hpp"

namespace comity::openmp {

// The numbers of omp_proc_bind_t, and the extension of Iwasaki, section 4.3.5.
enum class bind_policy : std::uint8_t { off = 0, on = 1, primary = 2, close = 3, spread = 4, unset = 5 };

// Where a thread is. Places are numbered as in OMP_PLACES.
struct placement {
    int place = -1;                // -1: nowhere in particular
    unsigned begin = 0, count = 0; // its partition

    bool operator==(const placement &) const = default;
};

// Where the thread is; an initial thread that binds is bound by the first call. Its own thread.
placement placement_of(thread *t) noexcept;

// What a region's ranks are given; `clause` is its proc_bind clause, 0: none. `contexts` null: the region has one rank.
// Only where process.binds. Before the ranks start.
void bind_region(thread *t, team *tm, std::uint8_t clause, unsigned ranks, spmd::team *contexts) noexcept;
// The same for the initial threads of a league, dealt by KMP_TEAMS_PROC_BIND, or spread. Returns where the opener, who
// is the first of them, was; after the league it is there again. `contexts` null: one team.
placement bind_league(thread *opener, thread *const *initial, unsigned ranks, spmd::team *contexts) noexcept;
void end_league(thread *opener, const placement &was) noexcept;

// Changes whenever the team's ranks are dealt to places in another way; 0: they have none.
unsigned deal_of(const team &tm) noexcept;
void free_placements(team *tm) noexcept;

// The calling thread runs on these CPUs from now on, whatever its place: until it is given another one. False: no
// memory.
bool run_on_cpus(const sys::cpu_set &cpus) noexcept;

} // namespace comity::openmp
