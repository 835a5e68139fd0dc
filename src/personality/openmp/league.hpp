// teams on the host.
#pragma once

#include "personality/openmp/abi_traits.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/thread.hpp"

namespace comity::openmp {

struct league_request {
    region_function function;
    void *data;
    unsigned teams;        // 0: as omp_set_num_teams says, or 1
    unsigned limit;        // on threads; 0: as omp_set_teams_thread_limit says, or as it is
    const abi_traits *abi; // of who opens it
    ompt::call_site at;    // where the program opens it
};

// Calls the function once for each team of the league, side by side on as many harts as there are, each time in an
// initial thread of its own, which may open regions; the caller's context executes team 0. Returns when all have
// returned. May switch.
void run_league(thread *t, const league_request &request) noexcept;

// What an initial thread has kept of its leagues; null: nothing.
void free_league(league *l) noexcept;

} // namespace comity::openmp
