// A loop with its iterations numbered from 0 and its values as 64-bit patterns, so that signed and unsigned loops,
// rising and falling ones, are one.
#pragma once

#include <cstdint>

#include "personality/openmp/icv.hpp"

namespace comity::openmp {

struct thread;

struct loop {
    std::uint64_t start = 0, end = 0,
                  step = 1; // iteration i has the value start + i * step; `end` as the program gave it
    std::uint64_t count = 0;
    std::uint64_t chunk = 0; // 0: the kind's default
    schedule_kind kind = schedule_kind::fixed;
    bool ordered = false;
    bool whole_chunks = false; // guided: only multiples of the chunk, but at the end
    bool wraps = false;        // a fetch_add on the iterations given out could wrap around; by `settle`
    bool plain = false;        // dynamic, not ordered, and it cannot: what one addition deals out; by `settle`
};

loop signed_loop(long start, long end, long step, schedule_kind kind, long chunk) noexcept;
loop unsigned_loop(bool up, unsigned long long start, unsigned long long end, unsigned long long step,
                   schedule_kind kind, unsigned long long chunk) noexcept;
// Sections are a loop over their numbers, from 1.
inline loop sections_loop(unsigned count) noexcept {
    return signed_loop(1, static_cast<long>(count) + 1, 1, schedule_kind::dynamic, 1);
}
// schedule(runtime): takes kind and chunk from the variables of t's task.
void resolve_schedule(const thread *t, loop &l) noexcept;
// All that the ranks need to know before they take iterations; resolves the schedule.
void settle(const thread *t, unsigned ranks, loop &l) noexcept;

} // namespace comity::openmp
