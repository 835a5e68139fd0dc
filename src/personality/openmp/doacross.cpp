// Doacross loops: ordered(n) with depend(source) and depend(sink). The nest of n loops is numbered as one; each chunk
// (or each rank, where it has one block) has a count of how far it has come, on which the iterations that depend on it
// wait.
#include <cstdlib>
#include <new>

#include "personality/openmp/team_wait.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

std::uint64_t flatten(const doacross &d, const std::uint64_t *indices) noexcept {
    std::uint64_t flat = 0;
    for (unsigned i = 0; i < d.dimensions; ++i) flat += indices[i] * d.inner[i];
    return flat;
}

// The rank whose block iteration i is in; the inverse of next_block in loop.cpp.
std::uint64_t owner(const loop &l, std::uint64_t size, std::uint64_t i) noexcept {
    const std::uint64_t share = l.count / size, rest = l.count % size, larger = rest * (share + 1);
    return i < larger ? i / (share + 1) : rest + (i - larger) / share;
}

// Where it is kept how far the iteration's chunk, or rank, has come.
std::uint64_t entry_of(const thread *t, const work_share *share, std::uint64_t iteration) noexcept {
    const loop &l = share->loop;
    return share->doacross.by_rank           ? owner(l, t->size, iteration)
           : l.kind == schedule_kind::guided ? iteration
                                             : iteration / l.chunk;
}

} // namespace

void start_doacross(thread *t, unsigned dimensions, const std::uint64_t *counts, schedule_kind kind,
                    std::uint64_t chunk) noexcept {
    work_share *share = t->share;
    loop l;
    l.end = l.count = counts[0];
    l.kind = kind;
    l.chunk = chunk;
    fill_loop(t, t->size, share, l);
    doacross &d = share->doacross;
    d.dimensions = dimensions;
    d.inner = static_cast<std::uint64_t *>(std::calloc(dimensions, sizeof *d.inner));
    if (!d.inner) sys::fatal("GOMP_loop_doacross", "no memory for %u nested loops", dimensions);
    std::uint64_t inner = 1;
    for (unsigned i = dimensions; i-- > 0; inner *= counts[i]) d.inner[i] = inner;
    const loop &set = share->loop;
    d.by_rank = set.kind == schedule_kind::fixed && !set.chunk;
    d.entries = d.by_rank                           ? t->size
                : set.kind == schedule_kind::guided ? set.count
                                                    : set.count / set.chunk + (set.count % set.chunk != 0);
    d.progress = static_cast<std::atomic<std::uint64_t> *>(std::calloc(d.entries + 1, sizeof *d.progress));
    if (!d.progress)
        sys::fatal("GOMP_loop_doacross", "no memory for %llu chunks", static_cast<unsigned long long>(d.entries));
}

void post_iteration(thread *t, const std::uint64_t *indices) noexcept {
    work_share *share = t->share;
    if (!share) return;
    const doacross &d = share->doacross;
    const std::uint64_t entry = entry_of(t, share, indices[0]);
    d.progress[entry].store(flatten(d, indices) + 1, std::memory_order_release); // release[iteration-posted]
    if (t->size > 1) wake(t->team, t->team->turns_of(entry));
}

void await_iteration(thread *t, const std::uint64_t *indices) noexcept {
    work_share *share = t->share;
    if (!share || t->size == 1) // in order by itself
        return;
    const std::uint64_t entry = entry_of(t, share, indices[0]), wanted = flatten(share->doacross, indices) + 1;
    const std::atomic<std::uint64_t> &progress = share->doacross.progress[entry];
    team *tm = t->team;
    wait_for(tm, tm->turns_of(entry), [&progress, wanted, tm] {
        return progress.load(std::memory_order_acquire) >= wanted || // acquire[iteration-posted]
               tm->cancelled.load(std::memory_order_relaxed);
    });
}

// ---- Nests whose iterations have no numbers of the compiler's: a bit for each -----------------------------------

namespace {

std::uint64_t trips(const doacross_loop &l) noexcept {
    const auto lower = static_cast<std::uint64_t>(l.lower), upper = static_cast<std::uint64_t>(l.upper);
    if (l.step > 0) return l.lower > l.upper ? 0 : (upper - lower) / static_cast<std::uint64_t>(l.step) + 1;
    return l.lower < l.upper ? 0 : (lower - upper) / (std::uint64_t{0} - static_cast<std::uint64_t>(l.step)) + 1;
}

// The number of the iteration with these values; false if there is none.
bool number_of(const doacross &d, const std::int64_t *values, std::uint64_t &number) noexcept {
    number = 0;
    for (unsigned i = 0; i < d.dimensions; ++i) {
        const doacross_loop &l = d.loops[i];
        const bool up = l.step > 0;
        if (up ? values[i] < l.lower || values[i] > l.upper : values[i] > l.lower || values[i] < l.upper) return false;
        const auto value = static_cast<std::uint64_t>(values[i]), lower = static_cast<std::uint64_t>(l.lower),
                   step = static_cast<std::uint64_t>(l.step);
        const std::uint64_t distance = up ? value - lower : lower - value, stride = up ? step : std::uint64_t{0} - step;
        if (distance % stride) return false;
        number += distance / stride * d.inner[i];
    }
    return true;
}

void fill_nest(work_share *share, unsigned dimensions, const doacross_loop *loops) noexcept {
    doacross &d = share->doacross;
    auto *copy = static_cast<doacross_loop *>(share_memory(share, dimensions * sizeof *loops));
    for (unsigned i = 0; i < dimensions; ++i) copy[i] = loops[i];
    d.loops = copy;
    d.dimensions = dimensions;
    d.inner = static_cast<std::uint64_t *>(std::calloc(dimensions, sizeof *d.inner));
    std::uint64_t count = 1;
    for (unsigned i = dimensions; d.inner && i-- > 0; count *= trips(copy[i])) d.inner[i] = count;
    d.entries = count / 64 + 1;
    d.progress = static_cast<std::atomic<std::uint64_t> *>(std::calloc(d.entries, sizeof *d.progress));
    if (!d.inner || !d.progress)
        sys::fatal("__kmpc_doacross_init", "no memory for %llu iterations", static_cast<unsigned long long>(count));
}

} // namespace

void enter_doacross(thread *t, unsigned dimensions, const doacross_loop *loops) noexcept {
    if (t->size == 1) return; // in order by itself
    if (enter_share(t)) {
        fill_nest(t->share, dimensions, loops);
        publish_share(t);
    }
    t->iterations = t->share; // the loop has a slot of its own
    t->share = nullptr;
}

void post_values(thread *t, const std::int64_t *values) noexcept {
    work_share *share = t->iterations;
    std::uint64_t number;
    if (!share || !number_of(share->doacross, values, number)) return;
    share->doacross.progress[number / 64].fetch_or(std::uint64_t{1} << number % 64,
                                                   std::memory_order_release); // release[iteration-posted]
    wake(t->team, t->team->turns_of(number));
}

bool await_values(thread *t, const std::int64_t *values) noexcept {
    const work_share *const share = t->iterations;
    std::uint64_t number;
    if (!share || !number_of(share->doacross, values, number)) return false;
    const std::atomic<std::uint64_t> &word = share->doacross.progress[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    team *tm = t->team;
    wait_for(tm, tm->turns_of(number), [&word, bit, tm] {
        return (word.load(std::memory_order_acquire) & bit) != 0 || // acquire[iteration-posted]
               tm->cancelled.load(std::memory_order_relaxed);
    });
    return true;
}

void leave_doacross(thread *t) noexcept {
    work_share *share = t->iterations;
    if (!share) return;
    t->iterations = nullptr;
    leave(t->team, share);
}

} // namespace comity::openmp
