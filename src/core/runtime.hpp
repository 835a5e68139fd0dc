// Start, stop, fork, adoption of threads, statistics.
#pragma once

#include "core/carrier.hpp"
#include "sys/shared.hpp"

#include <atomic>
#include <cstdint>

namespace comity::core {

// Starts Comity if it has not started. Any thread; never fails: with nothing to be had it is one hart.
COMITY_SHARED void ensure_started() noexcept;
COMITY_SHARED bool has_started() noexcept; // stale at once

// The calling thread's carrier; a thread that Comity never saw becomes an adopted carrier without a hart. Without
// memory for that, or for Comity's start, the process ends, or the result is null: a later call may find some.
COMITY_SHARED carrier *adopt() noexcept;
COMITY_SHARED carrier *adopt_if_possible() noexcept;

// Makes sure that the caller holds a hart: an adopted thread outside Comity waits for one. Returns its carrier.
// leave_comity gives it up again when the native context belongs to no scheduler but the base: it is kept for its next
// use, which, as after a region, is expected `soon`, or else only if no scheduler wants one.
enum class next_use : bool { soon, not_known };
//
// patience::ends: it may do without, on kernel threads, and waits for twenty times COMITY_STALL_MS at most; then it has
// none. Those that have the harts may never come to an end.
enum class patience : bool { lasts, ends };
carrier *enter_comity(patience p = patience::lasts) noexcept;
// The calling thread's own computation has left its hart in a scheduler that it registered, where others needed it, and
// did not notice (displacement): it gets one there again, and true. Else nothing happens. Never switches; may sleep.
bool come_back() noexcept;
void leave_comity(carrier *k, next_use next = next_use::soon) noexcept;

// Waits on the transition context for a hart and enters the scheduler it is for.
[[noreturn]] void wait_for_grant(carrier *k) noexcept;

// An adopted carrier whose native context waits and that has given its hart away: sleeps until post_home, then gets a
// hart and goes on with the context. On the transition context.
[[noreturn]] void sleep_at_home(carrier *k) noexcept;

// An adopted thread that holds no hart waits in the kernel for post_home of its native context.
COMITY_SHARED void sleep_without_hart(carrier *k) noexcept;
// The same until a deadline (now_ns). False: it has passed, and there was no post; one may come at any time after.
bool sleep_without_hart(carrier *k, std::int64_t deadline) noexcept;

// The hart that an adopted carrier keeps outside, if any, goes to whoever needs one.
void drop_kept_hart(carrier *k) noexcept;

// Enters a carrier in the list of all, and takes it out; its counts stay.
void enlist(carrier *k) noexcept;
void forget(carrier *k) noexcept;
// Calls visit(k, argument) for each carrier, under the list's lock.
void visit_carriers(void (*visit)(carrier *k, void *argument), void *argument) noexcept;
// The same unless somebody has that, as where a handler has interrupted one; false then.
bool try_visit_carriers(void (*visit)(carrier *k, void *argument), void *argument) noexcept;
void chaos_seed(std::uint64_t seed) noexcept;

// Counts the kernel threads that Comity has and that do not sleep in it.
void note_awake() noexcept;
void note_asleep() noexcept;

// CPU time of the workers. Any thread; a system call for each of them, under the lock of the carriers' list.
std::int64_t workers_cpu_ns() noexcept;

void count_contexts(unsigned n) noexcept;

// Counts the forks that lead to this process: what was made before the last one may have lost its kernel threads.
extern COMITY_SHARED std::atomic<std::uint32_t> forks;
inline std::uint32_t generation() noexcept { return forks.load(std::memory_order_relaxed); }
inline bool is_forked_child() noexcept { return generation() != 1; }

// Are there threads of the program's own that run on the harts, as contexts? Written by who serves them.
extern COMITY_SHARED std::atomic<bool> program_is_on_harts;

// In the child of a fork a context for which leaves() is true is on no hart and in no scheduler any more
// (stay_after_fork). One model's; before its first context.
COMITY_SHARED void leave_schedulers_in_children(bool (*leaves)(const carrier *k) noexcept) noexcept;

// How long a thread spins for somebody before it sleeps, in ticks: COMITY_SPIN_US, and up to five times that while
// sleeps are short; and the carrier of a hart that nobody needs: up to a hundred times (spin_length.hpp). 0 before
// Comity has started.
COMITY_SHARED std::uint64_t spin_ticks() noexcept;
std::uint64_t idle_spin_ticks() noexcept;
// A carrier has slept for so long, until it was woken.
void note_sleep(std::uint64_t ticks) noexcept;
// What a library that Comity stands in for was told of it; COMITY_SPIN_US wins. Any thread.
COMITY_SHARED void set_spin_us(unsigned us) noexcept;
// May the calling thread, which waits for something outside Comity, spin for it? If it has a hart, also one that it
// only keeps, for which no other thread waits: so no more threads spin than there are cores. Any thread; stale at once.
COMITY_SHARED bool may_spin() noexcept;
// Should who has spun on this carrier for so many ticks stop, though it may spin for longer (OMP_WAIT_POLICY=active)?
// Beyond what everybody does others come first that could have the hart: in the schedulers around the one that it works
// for, or threads outside. The caller's carrier, with a hart or without. Not cheap: not in every turn of a loop.
COMITY_SHARED bool is_wanted_beyond(const carrier *k, std::uint64_t spun) noexcept;
COMITY_SHARED std::uint64_t ticks_per_us() noexcept;

} // namespace comity::core
