// Leagues: the region of a teams construct and the initial tasks of its teams.
#include "personality/openmp/ompt/data.hpp"
#include "personality/openmp/region.hpp"

namespace comity::openmp::ompt {
namespace {

constexpr unsigned league_flags = invoked_by_runtime | parallel_league;
constexpr unsigned region_flags = invoked_by_runtime | parallel_team;

// The team's initial task and, with LLVM's ABI, the region of one thread in it.
struct watched_team {
    task_info initial{}, implicit{};
    team_info league{}, region{};
};

void begin_initial_task(thread *t, league_region &l, watched_team &w) noexcept {
    native_thread &n = mine();
    w.initial.flags = task_initial;
    w.initial.state_before = n.state;
    n.state = thread_state::undefined;
    w.league = {{}, l.caller, league_flags, false, &l, nullptr};
    t->tool = &w.initial;
    t->team->tool = &w.league;
    tell<event::implicit_task>(endpoint::begin, &l.data, &w.initial.data, l.teams, t->team_number, int{task_initial});
}

void begin_region(thread *t, league_region &l, watched_team &w) noexcept {
    void *frame = __builtin_frame_address(0);
    w.initial.frame.exit.pointer = frame;
    w.initial.frame.exit_flags = frame_runtime | frame_is_pointer;
    w.initial.frame.enter.pointer = frame;
    w.initial.frame.enter_flags = frame_runtime | frame_is_pointer;
    w.region = {{}, l.caller, region_flags, false, &l, &w.initial};
    tell<event::parallel_begin>(&w.initial.data, &w.initial.frame, &w.region.data, 1U, static_cast<int>(region_flags),
                                l.caller);
    w.implicit.flags = task_implicit | task_undeferred;
    t->tool = &w.implicit;
    t->team->tool = &w.region;
    tell<event::implicit_task>(endpoint::begin, &w.region.data, &w.implicit.data, 1U, 0U, int{task_implicit});
}

void end_region(thread *t, league_region &l, watched_team &w) noexcept {
    tell<event::implicit_task>(endpoint::end, nullptr, &w.implicit.data, 1U, 0U, int{task_implicit});
    t->tool = &w.initial;
    t->team->tool = &w.league;
    tell<event::parallel_end>(&w.region.data, &w.initial.data, static_cast<int>(region_flags), l.caller);
    w.initial.frame = {};
}

// No team waits for another one; the opener does, when it has no more of them.
void end_initial_task(thread *t, league_region &l, watched_team &w) noexcept {
    if (l.teams > 1) {
        const void *caller = t->team_number == 0 ? l.caller : nullptr;
        sync_region(sync_kind::barrier_teams, endpoint::begin, caller);
        sync_wait(sync_kind::barrier_teams, endpoint::begin, caller);
        sync_wait(sync_kind::barrier_teams, endpoint::end, caller);
        sync_region(sync_kind::barrier_teams, endpoint::end, caller);
    }
    tell<event::implicit_task>(endpoint::end, nullptr, &w.initial.data, 0U, t->team_number, int{task_initial});
    mine().state = w.initial.state_before;
}

} // namespace

void league_begins(league_region &l, call_site at) noexcept {
    task_info &around = info_of(l.opener->task);
    l.caller = at.caller;
    enter_runtime(around, at.frame);
    tell<event::parallel_begin>(&around.data, &around.frame, &l.data, l.teams, static_cast<int>(league_flags),
                                at.caller);
}

void league_ends(league_region &l) noexcept {
    task_info &around = info_of(l.opener->task);
    tell<event::parallel_end>(&l.data, &around.data, static_cast<int>(league_flags), l.caller);
    enter_runtime(around, nullptr);
}

// What is known of the team lies on the stack of its rank: nobody looks at it afterwards.
void run_team(thread *t, league_region &l, void (*function)(void *), void *data) noexcept {
    watched_team w;
    task_info *task_before = t->tool;
    team_info *team_before = t->team->tool;
    begin_initial_task(t, l, w);
    if (l.has_regions) begin_region(t, l, w);
    call(t, function, data);
    barrier(t); // its tasks
    if (l.has_regions) end_region(t, l, w);
    end_initial_task(t, l, w);
    t->tool = task_before;
    t->team->tool = team_before;
}

namespace {

// A league that a target region goes through, on the stack of who runs the region.
struct target_league {
    league_region region{}; // without teams: none has begun
    watched_team team{};
    task_info *task_before = nullptr;
    team_info *team_before = nullptr;

    void restore(thread *t) const noexcept {
        t->tool = task_before;
        t->team->tool = team_before;
    }
};
// The innermost target region's. Its code runs on this context's stack, so it is the context's own.
__thread target_league *target __attribute__((tls_model("initial-exec"))) = nullptr;

// As the thread whose task has met the target construct.
template <class F> void as_opener(const league_region &l, F f) noexcept {
    thread *t = self;
    self = l.opener;
    f();
    self = t;
}

} // namespace

void target_team_begins(thread *t, call_site at) noexcept {
    target_league &l = *target;
    if (!l.region.teams) {
        l.region.teams = t->teams;
        as_opener(l.region, [&] { league_begins(l.region, at); });
        l.task_before = t->tool;
        l.team_before = t->team->tool;
    }
    l.team = {};
    begin_initial_task(t, l.region, l.team);
}

void target_team_ends(thread *t) noexcept {
    target_league &l = *target;
    end_initial_task(t, l.region, l.team);
    l.restore(t);
    if (t->team_number + 1 < l.region.teams) return;
    as_opener(l.region, [&] { league_ends(l.region); });
    l.region = {{}, l.region.opener};
}

void run_target(thread *encountering, void (*function)(void *), void *data) noexcept {
    target_league here;
    here.region.opener = encountering;
    target_league *outer = target;
    target = &here;
    function(data);
    if (here.region.teams && on())
        target_team_ends(self); // GOMP_teams has one team, and no end
    else if (here.region.teams)
        here.restore(self); // the tool has gone meanwhile
    target = outer;
}

tool_data &region_data_of(team *tm) noexcept {
    team_info &i = info_of(tm);
    return i.league && !i.initial ? i.league->data : i.data;
}

tool_data &enclosing::region() const noexcept {
    return initial ? info_of(rank->team).league->data : region_data_of(rank->team);
}

unsigned enclosing::size() const noexcept {
    const team_info &i = info_of(rank->team);
    return i.league && (initial || !i.initial) ? i.league->teams : rank->size;
}

unsigned enclosing::number() const noexcept {
    const team_info &i = info_of(rank->team);
    return i.league && (initial || !i.initial) ? rank->team_number : rank->rank;
}

enclosing next_out(const enclosing &from) noexcept {
    team *tm = from.rank->team;
    if (tm->parent) return {tm->parent, false};
    const team_info &i = info_of(tm);
    if (!from.initial && i.initial) return {from.rank, true};
    return {i.league ? i.league->opener : nullptr, false};
}

} // namespace comity::openmp::ompt
