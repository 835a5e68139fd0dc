// How many harts a BLAS call could have, and when that changes.
#pragma once

#include <cstdint>

namespace comity::blas {

// Starts watching; `changed(harts)` is called whenever the number may be another one than before, one call at a time,
// by any thread and by Comity itself at the start and end of regions: it must be short and must not switch. Called
// once, before the first region of the BLAS; again does nothing.
void watch_available(void (*changed)(int harts)) noexcept;
// Calls `changed` with the number of now.
void publish_available() noexcept;
// The caller is about to run a parallel BLAS call: looks now and then whether other threads of the program use the
// cores.
void note_parallel_call() noexcept;
// What a parallel call gained that ended `now`: it took `wall` nanoseconds and did work that one thread would have done
// in about `work`. After losses, calls are sequential for a while.
void note_gain(std::int64_t now, std::int64_t wall, std::int64_t work) noexcept;
// In the child of a fork, where the caller is the only thread.
void available_after_fork() noexcept;

} // namespace comity::blas
