// Loops: numbering the iterations, the schedules, and ordered.
#include "personality/openmp/loop.hpp"

#include "personality/openmp/plain_loop.hpp"
#include "personality/openmp/team_wait.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

namespace comity::openmp {
namespace {

struct chunk {
    std::uint64_t begin, end;
};

// One block a rank, sizes differing by one at most: the same as compilers compute inline.
bool next_block(thread *t, const loop &l, chunk &c) noexcept {
    if (t->trip++) return false;
    const std::uint64_t size = t->size, rank = t->rank;
    const std::uint64_t share = l.count / size, rest = l.count % size;
    c.begin = rank * share + (rank < rest ? rank : rest);
    c.end = c.begin + share + (rank < rest);
    return c.begin < c.end;
}

// Chunks dealt out in turn.
bool next_fixed(thread *t, const loop &l, chunk &c) noexcept {
    std::uint64_t number, begin;
    if (__builtin_mul_overflow(t->trip, static_cast<std::uint64_t>(t->size), &number) ||
        __builtin_add_overflow(number, static_cast<std::uint64_t>(t->rank), &number) ||
        __builtin_mul_overflow(number, l.chunk, &begin) || begin >= l.count)
        return false;
    ++t->trip;
    c.begin = begin;
    c.end = l.count - begin < l.chunk ? l.count : begin + l.chunk;
    return true;
}

bool next_dynamic(const loop &l, work_share *share, chunk &c) noexcept {
    if (!l.wraps) [[likely]] {
        c.begin = share->next.fetch_add(l.chunk, std::memory_order_relaxed);
        if (c.begin >= l.count) return false;
    } else {
        c.begin = share->next.load(std::memory_order_relaxed);
        do {
            if (c.begin >= l.count) return false;
        } while (!share->next.compare_exchange_weak(c.begin, l.count - c.begin < l.chunk ? l.count : c.begin + l.chunk,
                                                    std::memory_order_relaxed));
    }
    c.end = l.count - c.begin < l.chunk ? l.count : c.begin + l.chunk;
    return true;
}

// What is left divided by the ranks, but not less than the chunk.
bool next_guided(const thread *t, const loop &l, work_share *share, chunk &c) noexcept {
    c.begin = share->next.load(std::memory_order_relaxed);
    do {
        if (c.begin >= l.count) return false;
        const std::uint64_t left = l.count - c.begin;
        std::uint64_t take = left / t->size + (left % t->size != 0);
        if (take < l.chunk) take = l.chunk;
        if (l.whole_chunks) take = (take + l.chunk - 1) / l.chunk * l.chunk;
        c.end = take < left ? c.begin + take : l.count;
    } while (!share->next.compare_exchange_weak(c.begin, c.end, std::memory_order_relaxed));
    return true;
}

bool next_of(thread *t, const loop &l, work_share *share, chunk &c) noexcept {
    switch (l.kind) {
    case schedule_kind::dynamic:
        return next_dynamic(l, share, c);
    case schedule_kind::guided:
        return next_guided(t, l, share, c);
    default:
        return l.chunk ? next_fixed(t, l, c) : next_block(t, l, c);
    }
}

} // namespace

loop signed_loop(long start, long end, long step, schedule_kind kind, long chunk) noexcept {
    using u64 = std::uint64_t;
    loop l;
    l.start = static_cast<u64>(start);
    l.end = static_cast<u64>(end);
    l.step = static_cast<u64>(step);
    l.kind = kind;
    l.chunk = chunk > 0 ? static_cast<u64>(chunk) : 0;
    if (step > 0 && start < end)
        l.count = (l.end - l.start - 1) / l.step + 1;
    else if (step < 0 && start > end)
        l.count = (l.start - l.end - 1) / (u64{0} - l.step) + 1;
    return l;
}

loop unsigned_loop(bool up, unsigned long long start, unsigned long long end, unsigned long long step,
                   schedule_kind kind, unsigned long long chunk) noexcept {
    loop l;
    l.start = start;
    l.end = end;
    l.step = step;
    l.kind = kind;
    l.chunk = chunk;
    if (up && start < end)
        l.count = (end - start - 1) / step + 1;
    else if (!up && start > end)
        l.count = (start - end - 1) / (0ull - step) + 1;
    return l;
}

void resolve_schedule(const thread *t, loop &l) noexcept {
    if (l.kind == schedule_kind::runtime) {
        const icvs &icv = icv_of(t);
        l.kind = icv.schedule;
        l.chunk = icv.chunk > 0 ? static_cast<std::uint64_t>(icv.chunk) : 0;
    }
    if (l.kind == schedule_kind::automatic) {
        l.kind = schedule_kind::fixed;
        l.chunk = 0;
    }
    if (l.kind != schedule_kind::fixed && l.chunk == 0) l.chunk = 1;
    if (l.chunk > l.count) l.chunk = l.count ? l.count : 1;
}

void settle(const thread *t, unsigned ranks, loop &l) noexcept {
    resolve_schedule(t, l);
    // Every rank may overshoot by a chunk, and ask again once more.
    l.wraps = l.chunk > (UINT64_MAX - l.count) / (2 * std::uint64_t{ranks} + 2);
    l.plain = l.kind == schedule_kind::dynamic && !l.ordered && !l.wraps;
}

void fill_loop(const thread *t, unsigned ranks, work_share *share, const loop &given) noexcept {
    share->loop = given;
    settle(t, ranks, share->loop);
}

namespace {

// Who waits for the turn of the chunk that begins here.
sync::wait_list &turn_of(const thread *t, std::uint64_t begin) noexcept {
    const std::uint64_t chunk = t->loop->chunk;
    return t->team->turns_of(chunk > 1 ? begin / chunk : begin);
}

} // namespace

bool next_chunk(thread *t, std::uint64_t &from, std::uint64_t &to) noexcept {
    work_share *share = t->share;
    if (!share) [[unlikely]]
        return false; // the region was cancelled
    const loop &l = *t->loop;
    if (l.plain) return next_plain_chunk(t, share, from, to);
    if (l.ordered && t->chunk_begin < t->chunk_end) {
        await_turn(t);
        share->turn.store(t->chunk_end, std::memory_order_release); // release[ordered-turn]
        wake(t->team, turn_of(t, t->chunk_end));
    }
    chunk c;
    if (share->cancelled.load(std::memory_order_relaxed) || !next_of(t, l, share, c)) {
        t->chunk_begin = t->chunk_end = 0;
        return false;
    }
    t->chunk_begin = c.begin;
    t->chunk_end = c.end;
    from = l.start + c.begin * l.step;
    to = c.end == l.count ? l.end : l.start + c.end * l.step;
    return true;
}

void await_turn(thread *t) noexcept {
    work_share *share = t->share;
    if (!share || !t->loop->ordered || t->chunk_begin == t->chunk_end) return;
    const std::uint64_t mine = t->chunk_begin;
    team *tm = t->team;
    wait_for(tm, turn_of(t, mine), [=] {
        return share->turn.load(std::memory_order_acquire) == mine || // acquire[ordered-turn]
               tm->cancelled.load(std::memory_order_relaxed);
    });
}

} // namespace comity::openmp
