// Ranks bound to places: sets of CPUs, numbered from 1; 0 is anywhere. Wherever a hart takes up a rank or goes on with
// one, its kernel thread is sent to the rank's place; and harts leave a rank to one that is at its place already
// (Iwasaki, section 4.3.5: place pools). README.md, "Places".
#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "model/spmd/team_impl.hpp"
#include "sys/message.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

namespace comity::spmd {

using core::base;

std::atomic<bool> ranks_are_bound{false};

namespace {

std::atomic<const sys::cpu_set *(*)(unsigned place) noexcept> cpus_of{nullptr}; // by set_places

std::uint64_t id_of(unsigned place) noexcept { return place | std::uint64_t{1} << 63; } // nobody else's for run_on

} // namespace

team *team_of(const context *c, core::sched *s) noexcept {
    if (s) return s->hooks == &team_hooks ? static_cast<team *>(s) : nullptr;
    if (team *own = innermost_running(c)) return own;
    const bool is_thread = c->runs; // of the program's, as which it was promoted
    return core::is_promoted(c) && !is_thread ? static_cast<const member *>(c->local)->of : nullptr;
}

void set_places(const sys::cpu_set *(*look_up)(unsigned place) noexcept) noexcept {
    cpus_of.store(look_up, std::memory_order_release); // release[spmd-places]
}

namespace {

// Null: anywhere.
const sys::cpu_set *find(unsigned place) noexcept {
    const auto look_up = cpus_of.load(std::memory_order_acquire); // acquire[spmd-places]
    return place != 0 && look_up ? look_up(place) : nullptr;
}

} // namespace

void run_at(core::carrier *k, unsigned place) noexcept {
    if (const sys::cpu_set *cpus = find(place))
        core::run_on(k, cpus, id_of(place));
    else if (k->bound)
        core::run_on(k, nullptr, 0);
}

void settle(unsigned place) noexcept {
    if (const sys::cpu_set *cpus = find(place)) core::settle(core::adopt(), *cpus, id_of(place));
}

// Tables are kept until the team ends, for a thief may look into one late.
place_table *team::make_table(unsigned ranks) noexcept {
    place_table *t = places_.load(std::memory_order_relaxed);
    if (t && t->room >= ranks) return t;
    const unsigned room = std::bit_ceil(ranks < 16 ? 16 : ranks);
    void *memory = std::calloc(1, sizeof(place_table) + room * (sizeof(std::atomic<unsigned>) + sizeof(unsigned)));
    if (!memory) sys::fatal("binding threads to places", "no memory");
    auto *made = new (memory) place_table{t, room, ranks};
    for (unsigned i = 0; t && i < t->room; ++i)
        made->of_rank()[i].store(t->of_rank()[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    if (places_.compare_exchange_strong(t, made, std::memory_order_acq_rel)) return made; // acq_rel[team-places]
    std::free(memory);                                                                    // another rank was first
    return t->room >= ranks ? t : make_table(ranks);
}

void team::free_tables() noexcept {
    place_table *t = places_.load(std::memory_order_relaxed);
    while (t) std::free(std::exchange(t, t->older));
}

void bind_ranks(team *t, const unsigned *places) noexcept {
    if (!places && !t->places_.load(std::memory_order_relaxed)) return;
    place_table *table = t->make_table(t->last_size);
    slot::set(table->ranks, t->last_size);
    bool any = false;
    for (unsigned i = 0; i < t->last_size; ++i) {
        const unsigned place = places ? places[i] : 0;
        slot::set(table->of_rank()[i], place);
        any |= place != 0;
    }
    slot::set(t->bound_, any);
    if (any) slot::set(ranks_are_bound, true);
}

bool bind_this_rank(unsigned place) noexcept {
    const context *c = core::current_context();
    team *t = team_around(c);
    if (!t) return false;
    t->make_table(t->last_size)->of_rank()[t->rank_of(c)].store(place, std::memory_order_relaxed);
    t->bound_.store(true, std::memory_order_relaxed);
    ranks_are_bound.store(true, std::memory_order_relaxed);
    t->send(c->on, t->rank_of(c));
    return true;
}

unsigned team::rank_of(const context *c) const noexcept {
    return c == master ? 0 : static_cast<const member *>(c->local)->rank;
}

unsigned team::place_of(unsigned rank) const noexcept {
    if (!bound_.load(std::memory_order_relaxed)) return 0;
    place_table *table = places_.load(std::memory_order_acquire); // acquire[team-places]
    return table && rank < table->room ? table->of_rank()[rank].load(std::memory_order_relaxed) : 0;
}

// Of the ranks [b, e): the first of those at its end that have one place.
std::uint32_t team::first_at_place(std::uint32_t b, std::uint32_t e) const noexcept {
    std::uint32_t first = e - 1;
    while (first > b && place_of(first - 1) == place_of(first)) --first;
    return first;
}

void team::send(carrier *k, unsigned rank) noexcept {
    const unsigned place = place_of(rank);
    if (k->carried) slots_[k->carried->id].place.store(place, std::memory_order_relaxed);
    run_at(k, place);
}

// The hart leaves the team, or the thread sleeps without it: it is nowhere in particular, but for a thread of the
// program, which goes on where its own computation shall run.
void team::send_away(carrier *k) noexcept {
    const team *t = k->native ? team_of(k->native, k->native->owner) : nullptr;
    run_at(k, t ? t->place_of(t->rank_of(k->native)) : 0);
}

// After a region: its master is a rank of the team around it again, if there is one.
void team::send_back(context *c) noexcept {
    if (team *around = team_of(c, c->owner)) around->send(c->on, around->rank_of(c));
}

// The kernel thread on which it goes on runs where its hart did.
void team::place_promoted(const member *m) noexcept {
    const team *own = innermost_running(m->c);
    const unsigned place = own ? own->place_of(0) : m->of->place_of(m->rank);
    core::place_promotion(m->c, find(place), id_of(place));
}

// Nobody else in the team is at its place.
bool team::may_take(const carrier *k, unsigned rank) const noexcept {
    const unsigned place = place_of(rank), own = static_cast<unsigned>(k->carried->id);
    if (place == 0 || slots_[own].place.load(std::memory_order_relaxed) == place) return true;
    for (unsigned i = 0; i < base().hart_count(); ++i)
        if (i != own && slots_[i].present.load(std::memory_order_relaxed) &&
            slots_[i].place.load(std::memory_order_relaxed) == place)
            return false;
    return true;
}

// A hart that has found nothing goes where ranks of this region's may need it: to a place where no hart is, not
// counting the master's where it has none to stay, or else where there are fewer harts than ranks. The kernel may have
// put it where the master runs. True: it has gone, and looks again, for from now on ranks of its place are left to it.
bool team::take_place(carrier *k) noexcept {
    const unsigned own = static_cast<unsigned>(k->carried->id), masters = entered_at_.load(std::memory_order_relaxed);
    place_table *table = places_.load(std::memory_order_acquire); // acquire[team-places]
    if (k->adopted || !table || (k->bound && k->bound->place != 0)) return false;
    const unsigned ranks = table->ranks.load(std::memory_order_relaxed);
    const auto harts_at = [&](unsigned place) {
        unsigned n = place_of(0) == place ? 1 : 0; // the master's, whichever rank it carries now
        for (unsigned i = 0; i < base().hart_count(); ++i)
            n += i != own && i != masters && slots_[i].present.load(std::memory_order_relaxed) &&
                 slots_[i].place.load(std::memory_order_relaxed) == place;
        return n;
    };
    const auto ranks_at = [&](unsigned place) {
        unsigned n = 0;
        for (unsigned rank = 0; rank < ranks; ++rank) n += place_of(rank) == place;
        return n;
    };
    unsigned chosen = slots_[own].place.load(std::memory_order_relaxed); // where it was the last time
    if (ranks_at(chosen) == 0 || harts_at(chosen) != 0) chosen = 0;
    unsigned shared = 0;
    for (unsigned rank = 1; rank < ranks && chosen == 0; ++rank) {
        const unsigned place = place_of(rank), harts = harts_at(place);
        if (harts == 0) chosen = place;
        if (shared == 0 && harts < ranks_at(place)) shared = place;
    }
    if (chosen == 0) chosen = shared;
    if (chosen == 0) return false;
    slots_[own].place.store(chosen, std::memory_order_relaxed);
    run_at(k, chosen);
    return k->bound && k->bound->place != 0;
}

bool team::has_ranks_for(const carrier *k) const noexcept {
    const unsigned harts = base().hart_count(), own = static_cast<unsigned>(k->carried->id);
    for (unsigned i = 0; i < harts; ++i) {
        const std::uint64_t r = slots_[i].range.load(std::memory_order_relaxed);
        if (ranks_in(slots_[i]) != 0 && (i == own || may_take(k, slot::end(r) - 1))) return true;
    }
    return false;
}

bool team::has_ready_for(const carrier *k) noexcept {
    ready_lock_.lock();
    const bool found = ready_.find_if([&](context *c) { return may_take(k, rank_of(c)); }) != nullptr;
    ready_lock_.unlock();
    return found;
}

} // namespace comity::spmd
