#include "personality/openmp/league.hpp"

#include "model/spmd/team.hpp"
#include "personality/openmp/binding.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"

#include <cstdlib>
#include <new>

namespace comity::openmp {

// Hangs on the initial thread that opens leagues, and stays hot as teams do.
struct league {
    // Written by the opener before the ranks start.
    region_function function = nullptr;
    void *data = nullptr;
    unsigned teams = 0;
    icvs icv;                            // what each team starts with
    ompt::league_region *told = nullptr; // for a tool; null: there is none
    thread *opener = nullptr;            // constant
    thread **initial = nullptr; // of each rank, the initial thread of its teams; rank 0's is the opener without a tool
    unsigned capacity = 0;

    alignas(64) std::atomic<unsigned> next{0}; // the first team that nobody has taken up
};

namespace {

// More at once than this do not make the league faster, and each costs a context.
constexpr unsigned ranks_for_each_hart = 4;

void run_team(const league &l, thread *t, unsigned number) noexcept {
    t->teams = l.teams;
    t->team_number = number;
    if (l.told) [[unlikely]]
        return ompt::run_team(t, *l.told, l.function, l.data);
    l.function(l.data);
    barrier(t); // its tasks
}

// Rank r begins with team r, so that the opener is in team 0, and goes on with what is left.
void run_teams(void *argument, unsigned rank) noexcept {
    auto &l = *static_cast<league *>(argument);
    thread *before = self, *t = l.initial[rank];
    self = t;
    for (unsigned i = rank; i < l.teams; i = l.next.fetch_add(1, std::memory_order_relaxed)) {
        if (t != l.opener) {
            t->team->icv = l.icv;
            t->implicit.icv = &t->team->icv;
        }
        run_team(l, t, i);
    }
    t->team_number = 0;
    t->teams = 1;
    self = before;
}

// The thread's league with initial threads for so many ranks. To a tool, the opener's task and team 0's are two.
league *league_of(thread *t, unsigned ranks) noexcept {
    league *&l = t->team->own_league;
    if (!l) {
        l = new (std::nothrow) league;
        if (l) l->opener = t;
    }
    if (l && l->capacity < ranks) {
        auto **more = static_cast<thread **>(std::realloc(l->initial, ranks * sizeof(thread *)));
        if (!more) sys::fatal("teams", "no memory for %u teams", ranks);
        l->initial = more;
        for (; l->capacity < ranks; ++l->capacity) {
            const bool first = l->capacity == 0;
            more[l->capacity] = first && !ompt::on() ? t : new_root();
            if (first) more[0]->number = t->number; // it is the same thread
        }
    }
    if (!l) sys::fatal("teams", "no memory");
    return l;
}

void run_side_by_side(thread *t, const league_request &request, unsigned teams, ompt::league_region *told) noexcept {
    // Each has a rank of its own where it has a place of its own.
    const unsigned most = process.binds ? most_ranks : ranks_for_each_hart * hart_count();
    spmd::team *contexts = teams > 1 ? spmd::prepare(teams < most ? teams : most) : nullptr;
    const unsigned ranks = spmd::size(contexts);
    league *l = league_of(t, ranks);
    l->function = request.function;
    l->data = request.data;
    l->teams = teams;
    l->told = told;
    l->icv = icv_of(t);
    l->next.store(ranks, std::memory_order_relaxed);
    placement was;
    if (process.binds) [[unlikely]]
        was = bind_league(t, l->initial, ranks, contexts);
    spmd::run(contexts, run_teams, l);
    if (process.binds) [[unlikely]]
        end_league(t, was);
}

void run_watched(thread *t, const league_request &request, unsigned teams, thread *encountering) noexcept {
    ompt::league_region told;
    told.opener = encountering;
    told.teams = teams;
    told.has_regions = request.abi->teams_have_regions;
    self = encountering;
    ompt::league_begins(told, request.at);
    self = t;
    run_side_by_side(t, request, teams, &told);
    self = encountering;
    ompt::league_ends(told);
}

// `encountering`: the thread whose task opens the league, if that is not the root's.
void run_as_root(thread *t, const league_request &request, thread *encountering) noexcept {
    unsigned teams = request.teams, limit = request.limit;
    if (!teams) {
        const int set = process.num_teams.load(std::memory_order_relaxed);
        teams = set > 0 ? static_cast<unsigned>(set) : 1;
    }
    if (!limit) limit = static_cast<unsigned>(process.teams_thread_limit.load(std::memory_order_relaxed));
    const icvs before = own_icv();
    if (limit) own_icv().thread_limit = limit < before.thread_limit ? limit : before.thread_limit;
    if (ompt::on()) [[unlikely]]
        run_watched(t, request, teams, encountering);
    else if (teams > 1)
        run_side_by_side(t, request, teams, nullptr);
    else
        request.function(request.data);
    self = t;
    own_icv() = before;
}

} // namespace

void run_league(thread *t, const league_request &request) noexcept {
    if (!t->team->parent && t->teams == 1) {
        run_as_root(t, request, t);
        return;
    }
    thread *fresh = new_root(); // a target region's teams, whose host is in a region or in a league
    self = fresh;
    run_as_root(fresh, request, t);
    self = t;
    free_root(fresh);
}

void free_league(league *l) noexcept {
    if (!l) return;
    for (unsigned i = 0; i < l->capacity; ++i)
        if (l->initial[i] != l->opener) free_root(l->initial[i]);
    std::free(l->initial);
    delete l;
}

} // namespace comity::openmp
