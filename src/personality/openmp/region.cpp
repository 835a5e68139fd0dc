#include "personality/openmp/region.hpp"

#include "core/displacement.hpp"
#include "core/runtime.hpp"
#include "personality/openmp/affinity_format.hpp"
#include "personality/openmp/binding.hpp"
#include "personality/openmp/region_memory.hpp"
#include "personality/openmp/task_run.hpp"
#include "sys/cache.hpp"
#include "sys/float_modes.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

// What the context was given last; it may have changed them since.
__thread std::uint64_t modes_given __attribute__((tls_model("initial-exec"))) = 0;

// Ranks run in the modes of who opened the region, as far as those have changed since the last one.
void take_modes(const team *tm) noexcept {
    modes_given = tm->modes;
    sys::set_float_modes(tm->modes);
}

// The team of the context's last region. `self` may be a thread of one that is gone, and another one in its place.
__thread std::uint64_t team_entered __attribute__((tls_model("initial-exec"))) = 0;

// From here on the region's code sees itself as rank `rank` of the team.
inline thread *enter_rank(team *tm, unsigned rank) noexcept {
    thread *t = self;
    // Else this context had the same rank the last time.
    if (team_entered != tm->id || t->team != tm || t->rank != rank) {
        team_entered = tm->id;
        t = tm->threads[rank];
        self = t;
    }
    t->size = tm->size;
    t->at_once_depth = tm->size == 1 ? 0 : never_at_once;
    t->shares = tm->shares;
    t->singles = tm->singles;
    if (modes_given != tm->modes) [[unlikely]]
        take_modes(tm);
    if (t->changed || tm->group) [[unlikely]] { // else the implicit task is as new, and its cache line is not touched
        t->implicit.icv = &tm->icv;
        t->implicit.group = tm->group;
        t->changed = tm->group;
    }
    return t;
}

// OMP_DISPLAY_AFFINITY: when something that is shown has changed since the context showed it last.
void show_affinity(const thread *t) noexcept {
    static __thread unsigned shown_level, shown_size;
    static __thread unsigned shown_deal;
    const unsigned deal = deal_of(*t->team);
    if (shown_level == t->team->level && shown_size == t->size && shown_deal == deal) return;
    shown_level = t->team->level;
    shown_size = t->size;
    shown_deal = deal;
    print_affinity(nullptr, *t->team->abi);
}

// The process was forked in the region: the other ranks are the parent's.
bool was_forked(const team *tm) noexcept { return tm->process != core::generation(); }

// What a rank executes; `watched`: for a tool, too. Nothing may be thrown out of a region, as OpenMP has it: noexcept
// ends the process then.
template <bool watched> void rank_body(void *argument, unsigned rank) noexcept {
    team *tm = static_cast<team *>(argument);
    thread *t = enter_rank(tm, rank);
    if (tm->displays) [[unlikely]]
        show_affinity(t);
    if (tm->first_share) [[unlikely]] {
        t->share = tm->first_share;
        t->loop = &tm->first_share->loop;
        t->trip = t->chunk_begin = t->chunk_end = 0;
        ++t->shares;
    }
    if constexpr (watched) {
        ompt::implicit_task_begins(t);
        ompt::call(t, tm->function, tm->data);
        ompt::implicit_task_waits(t);
    } else {
        tm->function(tm->data);
    }
    if (t->share) [[unlikely]] // a combined loop that the compiler dealt out itself after all
        leave_share(t);
    if (tm->gather && !was_forked(tm)) [[unlikely]]
        barrier(t);
    else if (tm->makes_tasks.load(std::memory_order_relaxed)) [[unlikely]]
        while (run_a_task(t)) {
        }
    if (watched && rank != 0) ompt::implicit_task_ends(t);
}

// Of what the ranks read, all that changes from region to region is in the team's first line; the others are only
// written when they must be, so that they stay in the ranks' caches.
template <class T> void set(T &field, T value) noexcept {
    if (field != value) field = value;
}

// A list of num_threads holds for the regions in it, as far as it goes.
void take_list(const thread *parent, team *tm, const num_threads_clause *clause) noexcept {
    const unsigned *further = parent->team->further_ranks;
    set(tm->further_ranks, clause && clause->listed ? clause->ranks + 1 : further && *further ? further + 1 : nullptr);
    if (tm->further_ranks && *tm->further_ranks) tm->icv.num_threads = *tm->further_ranks;
}

// Ends the program if that was said.
void tell_of_fewer(const num_threads_clause &clause, unsigned ranks) noexcept {
    const char *text = clause.message ? clause.message : "the region has fewer";
    if (clause.if_fewer == num_threads_clause::outcome::fatal)
        sys::fatal("num_threads(strict)", "%u threads instead of %u: %s", ranks, clause.ranks[0], text);
    if (clause.if_fewer == num_threads_clause::outcome::warning)
        sys::warn("num_threads(strict): %u threads instead of %u: %s", ranks, clause.ranks[0], text);
}

// The variables of the ranks' tasks: those of the task that opens the region, with the next entry of lists.
void inherit(thread *parent, team *tm) noexcept {
    tm->icv = icv_of(parent);
    if (process.num_threads_listed > tm->level) [[unlikely]]
        tm->icv.num_threads = process.num_threads[tm->level];
    if (process.bind_listed > tm->level) [[unlikely]]
        tm->icv.bind = process.bind[tm->level];
}

// How many threads are in the contention group of t's.
std::atomic<unsigned> &busy_of(const thread *t) noexcept {
    while (t->team->parent) t = t->team->parent;
    return t->team->busy;
}

unsigned left_beside(unsigned busy, unsigned limit) noexcept { return busy < limit ? limit - busy : 0; }

// Did the region make tasks? Now all are done.
bool end_tasks(team *tm, thread *first) noexcept {
    if (!tm->makes_tasks.load(std::memory_order_relaxed)) return false;
    if (!tm->gather || tm->cancelled.load(std::memory_order_relaxed)) // else the ranks have waited for them
        finish_tasks(first);
    await_visitors(tm);
    tm->makes_tasks.store(false, std::memory_order_relaxed);
    return true;
}

// What a region of `ranks` ranks finds when it starts.
team *set_up(thread *t, const region &r, unsigned ranks) noexcept {
    team *tm = t->child;
    if (!tm || tm->capacity < ranks) [[unlikely]]
        tm = child_team(t, ranks);
    tm->function = r.function;
    tm->data = r.data;
    tm->size = ranks;
    const unsigned harts = hart_count();
    tm->crowded = ranks > harts;
    const unsigned group = tm->crowded ? (ranks + harts - 1) / harts : ranks_in_group;
    tm->group_size = static_cast<std::uint16_t>(ranks > group && group > 1 ? group : 0);
    tm->active_level = t->team->active_level + (ranks > 1);
    set(tm->group, r.group);
    if (process.inherits_modes) [[likely]]
        set(tm->modes, sys::float_modes());
    set(tm->process, core::generation());
    inherit(t, tm);
    if (r.clause || t->team->further_ranks || tm->further_ranks) [[unlikely]]
        take_list(t, tm, r.clause);
    set<work_share *>(tm->first_share, nullptr);
    if (r.loop) [[unlikely]] {
        tm->first_share = preset_share(tm);
        fill_loop(t, ranks, tm->first_share, *r.loop);
    }
    if (process.own_regions) [[unlikely]]
        tm->opened_by = r.known_as ? r.known_as : reinterpret_cast<const void *>(r.function);
    set(tm->displays, process.display_affinity);
    if (tm->displays) [[unlikely]]
        tm->abi = r.abi;
    return tm;
}

// After the join: only rank 0 is left. Did the region make tasks?
bool tidy(team *tm, thread *first) noexcept {
    const bool made_tasks = end_tasks(tm, first);
    set(tm->shares, first->shares);
    set(tm->singles, first->singles);
    if (tm->loop_cancelled.load(std::memory_order_relaxed)) [[unlikely]]
        tm->loop_cancelled.store(false, std::memory_order_relaxed);
    if (tm->cancelled.load(std::memory_order_relaxed) || was_forked(tm)) [[unlikely]] {
        // Ranks left from anywhere. The slots' numbers need not continue, only grow.
        for (unsigned i = 0; i < tm->size; ++i) {
            thread *t = tm->threads[i];
            if (t->shares > tm->shares) tm->shares = t->shares;
            t->share = t->iterations = nullptr;
            t->implicit.group = nullptr;
        }
        tm->singles = tm->singles_taken.load(std::memory_order_relaxed);
        forget_arrivals(tm);
        tm->cancelled.store(false, std::memory_order_relaxed);
        reset_ring(tm);
    }
    return made_tasks;
}

// How many ranks the program asked for.
unsigned requested_by(const thread *t, const region &r) noexcept {
    const unsigned said = r.ranks ? r.ranks : r.exactly ? r.exactly : icv_of(t).num_threads;
    return said ? said : hart_count();
}

template <bool watched> void run(thread *t, const region &r, unsigned ranks) noexcept {
    const unsigned limit = icv_of(t).thread_limit;
    const bool limited = limit != no_limit && ranks > 1 && !r.exactly; // the others have asked for what is left
    if (limited) [[unlikely]]
        ranks = take_from_limit(t, ranks, limit);

    const unsigned taken = ranks;
    spmd::team *contexts = nullptr;
    if (ranks > 1) {
        contexts = spmd::prepare(ranks);
        ranks = spmd::size(contexts);
    }

    if (r.clause && ranks < r.clause->ranks[0]) [[unlikely]]
        tell_of_fewer(*r.clause, ranks);

    team *tm = set_up(t, r, ranks);
    thread *first = tm->threads[0];
    if (process.binds) [[unlikely]] {
        bind_region(t, tm, r.bind, ranks, contexts);
        const bool off = tm->icv.bind == static_cast<std::uint8_t>(bind_policy::off);
        if (r.bind && r.abi->bind_clause_lasts && !off && process.bind_listed <= tm->level) tm->icv.bind = r.bind;
    }
    if (watched) ompt::region_begins(t, tm, requested_by(t, r), r.most != no_limit, r.at);
    const void *known_as = r.known_as ? r.known_as : reinterpret_cast<const void *>(r.function);
    if (ranks > 1) {
        tm->gather = may_make_tasks(known_as);
        spmd::run(contexts, rank_body<watched>, tm,
                  r.exactly ? spmd::region_kind::gang : spmd::region_kind::cooperative, known_as);
        sys::fetch_to_write(tm); // its first line, for the next region
    } else {
        tm->gather = false;
        rank_body<watched>(tm, 0);
    }
    const bool made_tasks = tidy(tm, first);
    if (watched) ompt::region_ends(t, tm);
    if (ranks > 1 && (tm->gather || made_tasks)) [[unlikely]]
        remember_tasks(known_as, made_tasks);
    self = t;
    if (limited && taken > 1) [[unlikely]]
        give_to_limit(t, taken);
    if (ranks > 1) spmd::let_thread_go_on();
}

// What a region gets instead of so many ranks. Told once in the process: who asks for them does it again and again.
[[gnu::cold]] unsigned too_many(thread *t, unsigned wanted) noexcept {
    static std::atomic<bool> told{false};
    const bool tells = !told.exchange(true, std::memory_order_relaxed);
    if (wanted > no_limit) { // the program's number was negative
        if (tells)
            sys::warn("num_threads(%d): not a number from 1; the clause has no effect", static_cast<int>(wanted));
        return ranks_for(t, 0);
    }
    if (tells) sys::warn("%u threads asked for: a region can have %u; using that", wanted, most_ranks);
    return most_ranks;
}

__attribute__((constructor)) void note_callers() noexcept {
    core::note_caller_of_program(reinterpret_cast<const void *>(&rank_body<false>));
    core::note_caller_of_program(reinterpret_cast<const void *>(&rank_body<true>));
    core::note_caller_of_program(reinterpret_cast<const void *>(&run_task));
    core::note_caller_of_program(reinterpret_cast<const void *>(&ompt::call));
}

} // namespace

unsigned ranks_for(thread *t, unsigned wanted) noexcept {
    if (wanted == 1) return 1;

    const icvs &icv = icv_of(t);
    if (t->team->active_level >= icv.max_active_levels) return 1;
    unsigned ranks = wanted ? wanted : icv.num_threads ? icv.num_threads : hart_count();
    if (icv.dynamic) {
        const unsigned harts = hart_count();
        ranks = ranks < harts ? ranks : harts;
    }
    if (ranks <= most_ranks) [[likely]]
        return ranks;
    return too_many(t, ranks);
}

void run_region(thread *t, const region &r) noexcept {
    const unsigned ranks = r.exactly ? r.exactly : ranks_for(t, r.ranks);
    run_region(t, r, ranks > r.most && icv_of(t).dynamic ? r.most : ranks);
}

void run_region(thread *t, const region &r, unsigned ranks) noexcept {
    return ompt::either([t, &r, ranks](ompt::call_site) { run<true>(t, r, ranks); },
                        [t, &r, ranks] { run<false>(t, r, ranks); }, {});
}

unsigned take_from_limit(thread *t, unsigned wanted, unsigned limit) noexcept {
    std::atomic<unsigned> &busy = busy_of(t);
    unsigned now = busy.load(std::memory_order_relaxed), given;
    do {
        const unsigned left = left_beside(now, limit);
        given = wanted - 1 < left ? wanted - 1 : left;
    } while (!busy.compare_exchange_weak(now, now + given, std::memory_order_relaxed));
    return given + 1;
}

void give_to_limit(thread *t, unsigned ranks) noexcept { busy_of(t).fetch_sub(ranks - 1, std::memory_order_relaxed); }

unsigned left_of_limit(const thread *t) noexcept {
    return 1 + left_beside(busy_of(t).load(std::memory_order_relaxed), icv_of(t).thread_limit);
}

void begin_serial_region(thread *t) noexcept {
    region r{nullptr, nullptr};
    r.abi = &llvm_abi;
    team *tm = set_up(t, r, 1);
    tm->gather = false;
    if (process.binds) [[unlikely]]
        bind_region(t, tm, 0, 1, nullptr);
    t = enter_rank(tm, 0);
    if (tm->displays) [[unlikely]]
        show_affinity(t);
}

void end_serial_region(thread *t) noexcept {
    team *tm = t->team;
    leave_share(t);
    tidy(tm, t);
    self = tm->parent;
}

} // namespace comity::openmp
