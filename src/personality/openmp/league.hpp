// teams on the host.
#pragma once

#include "personality/openmp/thread.hpp"

namespace comity::openmp {

// Calls the function once for each team of the league, one after the other, in the caller, which is each team's initial
// thread and may open regions. 0 teams: as omp_set_num_teams says, or 1. 0 for the limit on threads: as
// omp_set_teams_thread_limit says, or as it is. May switch if the function does.
void run_league(thread *t, region_function function, void *data, unsigned teams, unsigned limit) noexcept;

} // namespace comity::openmp
