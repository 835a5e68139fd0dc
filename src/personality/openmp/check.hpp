// COMITY_OMP_CHECK: what the specification forbids is named, in one line, and ends the program. What the constructs
// tell a tool (ompt/hooks.hpp) is told here too, so they pay nothing for it while it is off.
#pragma once

#include <cstdint>

namespace comity::openmp {
struct team;
struct thread;
class word_lock;
class nest_lock;
} // namespace comity::openmp

namespace comity::openmp::check {

// Written before the first thread of OpenMP exists. All that follows may only be called while it is true; `caller`:
// the return address into the program. Nothing switches.
extern bool on;
// Do the variables ask for it? Also KMP_CONSISTENCY_CHECK=all, which LLVM's runtime has.
bool is_wanted() noexcept;

enum class construct : std::uint8_t { loop, sections, single, critical, atomic, ordered, masked };

// The calling thread comes to the construct. `what`: of critical, its lock.
void may_enter(construct kind, const void *what, const void *caller) noexcept;
// It is in the construct; it leaves it.
void entered(construct kind, const void *what, const void *caller) noexcept;
void left(construct kind) noexcept;
// It has a chunk of a loop or of sections: those of a combined construct begin so.
void has_chunk(bool section, const void *caller) noexcept;
// It leaves its loop or sections, or all that it is in, because they are cancelled.
void left_by_cancel(bool region) noexcept;

void at_barrier(const void *caller) noexcept;
// By who opens the region, before its ranks start; by each rank, when its code is done.
void region_begins(team *tm) noexcept;
void rank_ends(thread *t) noexcept;
void free_nesting(thread *t) noexcept; // with the thread, on or not

// Locks belong to threads: the number goes into the lock's word.
std::uint32_t owner() noexcept;
void may_set(const word_lock &l, const void *caller) noexcept;
void may_unset(const word_lock &l, const void *caller) noexcept;
void may_set(const nest_lock &l, const void *caller) noexcept;
void may_unset(const nest_lock &l, const void *caller) noexcept;
void may_destroy(const word_lock &l, const char *call, const void *caller) noexcept;

} // namespace comity::openmp::check
