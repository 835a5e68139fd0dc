#include "personality/openmp/league.hpp"

namespace comity::openmp {

namespace {

void run_teams(thread *t, region_function function, void *data, unsigned teams, unsigned limit) noexcept {
    if (!teams) {
        const int set = process.num_teams.load(std::memory_order_relaxed);
        teams = set > 0 ? static_cast<unsigned>(set) : 1;
    }
    if (!limit) limit = static_cast<unsigned>(process.teams_thread_limit.load(std::memory_order_relaxed));
    const icvs before = own_icv();
    if (limit) own_icv().thread_limit = limit < before.thread_limit ? limit : before.thread_limit;
    t->teams = teams;
    for (t->team_number = 0; t->team_number < teams; ++t->team_number) function(data);
    t->team_number = 0;
    t->teams = 1;
    own_icv() = before;
}

} // namespace

void run_league(thread *t, region_function function, void *data, unsigned teams, unsigned limit) noexcept {
    if (!t->team->parent) {
        run_teams(t, function, data, teams, limit);
        return;
    }
    thread *fresh = new_root(); // a target region's teams, whose host is in a region
    self = fresh;
    run_teams(fresh, function, data, teams, limit);
    self = t;
    free_root(fresh);
}

} // namespace comity::openmp
