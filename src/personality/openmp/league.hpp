// teams on the host.
#pragma once

#include "personality/openmp/thread.hpp"

namespace comity::openmp {

// Calls the function once for each team of the league, side by side on as many harts as there are, each time in an
// initial thread of its own, which may open regions; the caller is team 0's. Returns when all have returned. 0 teams:
// as omp_set_num_teams says, or 1. 0 for the limit on threads: as omp_set_teams_thread_limit says, or as it is. May
// switch.
void run_league(thread *t, region_function function, void *data, unsigned teams, unsigned limit) noexcept;

// What an initial thread has kept of its leagues; null: nothing.
void free_league(league *l) noexcept;

} // namespace comity::openmp
