#include "personality/openmp/binding.hpp"

#include "core/spinlock.hpp"
#include "personality/openmp/held_over_forks.hpp"
#include "personality/openmp/places.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

#include <cstdlib>
#include <new>

namespace comity::openmp {

// What a team's ranks have been given, and from what it follows.
struct placements {
    bind_policy policy;
    placement opener;
    unsigned ranks, room;
    unsigned deal;   // counts the deals of the process
    placement at[1]; // room + 1 of them
};

namespace {

unsigned number_of_places() noexcept { return static_cast<unsigned>(places().size()); }

placement everywhere() noexcept { return {-1, 0, number_of_places()}; }

// Numbers from 1 are places; behind them stand sets that the program has given (kmp_set_affinity), which stay.
constexpr unsigned most_sets = 4096;
std::atomic<sys::cpu_set *> given_sets[most_sets];
std::atomic<unsigned> given{0};
core::spinlock giving;

__attribute__((constructor)) void watch_forks() noexcept { hold_over_forks<giving>("in kmp_set_affinity"); }

const sys::cpu_set *look_up(unsigned number) noexcept {
    const unsigned n = number_of_places();
    if (number <= n) return cpus_of_place(static_cast<int>(number) - 1);
    return number - n <= most_sets ? given_sets[number - n - 1].load(std::memory_order_acquire) // acquire[given-set]
                                   : nullptr;
}

// 0: there are too many, or no memory.
unsigned number_of_set(const sys::cpu_set &cpus) noexcept {
    giving.lock();
    const unsigned n = given.load(std::memory_order_relaxed);
    unsigned i = 0;
    while (i < n && !(*given_sets[i].load(std::memory_order_relaxed) == cpus)) ++i;
    if (i == n && n < most_sets) {
        if (auto *set = new (std::nothrow) sys::cpu_set(cpus)) {
            given_sets[i].store(set, std::memory_order_release); // release[given-set]
            given.store(n + 1, std::memory_order_relaxed);
        }
    }
    const bool found = i < given.load(std::memory_order_relaxed);
    giving.unlock();
    return found ? number_of_places() + i + 1 : 0;
}

placements *room_for(team *tm, unsigned ranks) noexcept {
    placements *p = tm->placed;
    if (p && p->room >= ranks) return p;
    auto *more = static_cast<placements *>(std::realloc(p, sizeof(placements) + ranks * sizeof(placement)));
    if (!more) sys::fatal("binding threads to places", "no memory for %u ranks", ranks);
    more->ranks = more->deal = 0;
    more->room = ranks;
    return tm->placed = more;
}

// Consecutive ranks to consecutive places, from the opener's place on; where there are more ranks than places, as many
// to each, but one more to the first ones.
void deal_close(const placement &from, unsigned ranks, placement *out) noexcept {
    const unsigned n = from.count, first = static_cast<unsigned>(from.place) - from.begin;
    const unsigned each = ranks > n ? ranks / n : 1, more = ranks > n ? ranks % n : 0;
    unsigned rank = 0;
    for (unsigned i = 0; i < n && rank < ranks; ++i) {
        const int place = static_cast<int>(from.begin + (first + i) % n);
        for (unsigned j = 0; j < each + (i < more) && rank < ranks; ++j) out[rank++] = {place, from.begin, n};
    }
}

// A part of the partition for each rank: rank 0's is the one that its place is in.
void deal_spread(const placement &from, unsigned ranks, placement *out) noexcept {
    const unsigned n = from.count, at = static_cast<unsigned>(from.place) - from.begin;
    if (ranks > n) {
        deal_close(from, ranks, out);
        for (unsigned i = 0; i < ranks; ++i) out[i] = {out[i].place, static_cast<unsigned>(out[i].place), 1};
        return;
    }
    const unsigned each = n / ranks, more = n % ranks; // the first `more` parts have one place more
    const auto begin_of = [=](unsigned part) { return part * each + (part < more ? part : more); };
    unsigned own = 0;
    while (own + 1 < ranks && begin_of(own + 1) <= at) ++own;
    for (unsigned i = 0; i < ranks; ++i) {
        const unsigned part = (own + i) % ranks, begin = begin_of(part);
        const unsigned size = each + (part < more);
        out[i] = {i == 0 ? from.place : static_cast<int>(from.begin + begin), from.begin + begin, size};
    }
}

// Deals `ranks` ranks to the partition of the thread that opens the region, whose place rank 0 keeps. For primary,
// close, spread; `on` counts as close, everything else binds nobody and gives all of `places` places to each.
void deal_places(bind_policy policy, const placement &opener, unsigned places, unsigned ranks,
                 placement *out) noexcept {
    placement from = opener;
    if (from.place < 0 || from.count == 0) from = {0, 0, places};
    const bool binds = policy != bind_policy::off && policy != bind_policy::unset && places != 0;
    if (binds && policy == bind_policy::spread) return deal_spread(from, ranks, out);
    if (binds && policy != bind_policy::primary) return deal_close(from, ranks, out);
    for (unsigned i = 0; i < ranks; ++i) out[i] = binds ? from : placement{-1, 0, places};
}

// Mostly it is as it was the last time.
const placement *deal_to(team *tm, bind_policy policy, const placement &opener, unsigned ranks) noexcept {
    placements *p = room_for(tm, ranks);
    if (p->ranks != ranks || p->policy != policy || p->opener != opener) {
        p->ranks = ranks;
        p->policy = policy;
        p->opener = opener;
        static std::atomic<unsigned> deals{0};
        p->deal = deals.fetch_add(1, std::memory_order_relaxed) + 1;
        deal_places(policy, opener, number_of_places(), ranks, p->at);
    }
    return p->at;
}

void tell_contexts(const placement *at, unsigned ranks, spmd::team *contexts) noexcept {
    unsigned few[64] = {};
    unsigned *numbers = ranks <= 64 ? few : static_cast<unsigned *>(std::malloc(ranks * sizeof *numbers));
    if (!numbers) sys::fatal("binding threads to places", "no memory for %u ranks", ranks);
    for (unsigned i = 0; i < ranks; ++i) numbers[i] = static_cast<unsigned>(at[i].place + 1);
    spmd::bind_ranks(contexts, numbers);
    if (numbers != few) std::free(numbers);
}

// An initial thread is bound when it is first asked where it is. Each to the next place, the program's first one to the
// first.
void place_root(thread *t) noexcept {
    static std::atomic<unsigned> roots{0};
    const auto policy = static_cast<bind_policy>(process.initial.bind);
    const unsigned n = number_of_places();
    (void)hart_count(); // Comity has seen what the process may use before this thread is bound
    spmd::set_places(look_up);
    placement at = everywhere();
    if (policy != bind_policy::unset && n != 0)
        at.place = static_cast<int>(roots.fetch_add(1, std::memory_order_relaxed) % n);
    placements *p = room_for(t->team, 1);
    p->at[0] = at;
    if (at.place >= 0) spmd::settle(static_cast<unsigned>(at.place) + 1);
}

} // namespace

placement placement_of(thread *t) noexcept {
    if (!process.binds) return everywhere();
    if (!t->team->placed) {
        if (t->team->parent) return everywhere();
        place_root(t);
    }
    return t->team->placed->at[t->rank];
}

void bind_region(thread *t, team *tm, std::uint8_t clause, unsigned ranks, spmd::team *contexts) noexcept {
    const placement opener = placement_of(t);
    auto policy = static_cast<bind_policy>(icv_of(t).bind);
    const bool said = clause >= static_cast<std::uint8_t>(bind_policy::primary) &&
                      clause <= static_cast<std::uint8_t>(bind_policy::spread);
    if (said && policy != bind_policy::off) policy = static_cast<bind_policy>(clause);
    if (ranks == 1 && policy != bind_policy::unset) policy = bind_policy::primary;
    const placement *at = deal_to(tm, policy, opener, ranks);
    if (contexts) tell_contexts(at, ranks, contexts);
}

placement bind_league(thread *opener, thread *const *initial, unsigned ranks, spmd::team *contexts) noexcept {
    const placement from = placement_of(opener);
    auto *at = static_cast<placement *>(std::malloc(ranks * sizeof(placement)));
    if (!at) sys::fatal("binding teams to places", "no memory for %u teams", ranks);
    deal_places(static_cast<bind_policy>(process.teams_bind), from, number_of_places(), ranks, at);
    for (unsigned i = 0; i < ranks; ++i) room_for(initial[i]->team, 1)->at[0] = at[i];
    if (contexts) tell_contexts(at, ranks, contexts);
    std::free(at);
    return from;
}

void end_league(thread *opener, const placement &was) noexcept { opener->team->placed->at[0] = was; }

unsigned deal_of(const team &tm) noexcept { return tm.placed ? tm.placed->deal : 0; }

void free_placements(team *tm) noexcept { std::free(tm->placed); }

bool run_on_cpus(const sys::cpu_set &cpus) noexcept {
    (void)hart_count();
    spmd::set_places(look_up);
    const unsigned number = number_of_set(cpus);
    if (number == 0) return false;
    if (!spmd::bind_this_rank(number)) spmd::settle(number);
    return true;
}

} // namespace comity::openmp
