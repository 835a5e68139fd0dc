// The shortest way to the next iterations of a loop that one addition deals out (loop::plain), for whoever hands them
// to the program at once.
#pragma once

#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

namespace comity::openmp {

// next_chunk, of such a loop in the construct `share`. What it needs it reads before the addition: on x86-64 reads wait
// behind that, also of what is passed in memory, hence inlined.
[[gnu::always_inline]] inline bool next_plain_chunk(thread *t, work_share *share, std::uint64_t &from,
                                                    std::uint64_t &to) noexcept {
    const loop l = *t->loop;
    const bool cancelled = share->cancelled.load(std::memory_order_relaxed);
    const std::uint64_t begin = share->next.fetch_add(l.chunk, std::memory_order_relaxed);
    if (begin >= l.count || cancelled) [[unlikely]] {
        t->chunk_begin = t->chunk_end = 0;
        return false;
    }
    const bool is_last = l.count - begin <= l.chunk;
    t->chunk_begin = begin;
    t->chunk_end = is_last ? l.count : begin + l.chunk;
    from = l.start + begin * l.step;
    to = is_last ? l.end : l.start + (begin + l.chunk) * l.step;
    return true;
}

} // namespace comity::openmp
