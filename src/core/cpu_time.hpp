// The CPU time of computations, which move between kernel threads: what they have used on harts, and on the kernel
// threads that lend their storage. Rules: README.md, "CPU time". Nothing here switches; errno is kept.
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::core {

struct carrier;
struct context;

// The calling context's, in nanoseconds, since its storage was made, or, of a kernel thread's own computation, since
// the thread began; -1: Comity does not know the caller, or runs it on storage of others, and the kernel's clock is
// right. From the first call on switches count exactly. Any thread, and signal handlers.
COMITY_SHARED std::int64_t cpu_ns_here() noexcept;
// The same of a full context at the start of a computation on it, without making switches count.
COMITY_SHARED std::int64_t cpu_ns_at_start(context *c) noexcept;
// Of another full context that lives.
COMITY_SHARED std::int64_t cpu_ns_of(context *c) noexcept;
// Of a kernel thread's own computation; -1: it carries nobody else's.
COMITY_SHARED std::int64_t cpu_ns_of_kernel_thread(int id) noexcept;

// ---- For the core.

// The watch looks at the carrier, under the lock of the carriers' list.
void sample_cpu(carrier *k, std::int64_t now) noexcept;
// At a switch from one TLS block to another, if there is something to count.
void charge_cpu(carrier *k, context *from, context *to) noexcept;
// The calling kernel thread, Comity's own, is about to make these contexts ready, which no other thread may resume: they
// share what it has used since `mark`. A mark begins at no_cpu_mark.
constexpr std::int64_t no_cpu_mark = -1;
void charge_wakes(context *first, std::int64_t &mark) noexcept;
// What it has used since then; 0: unknown. From here on it counts anew.
std::int64_t cpu_since(std::int64_t &mark) noexcept;
// A carrier is entered in the list, under its lock.
void begin_cpu(carrier *k) noexcept; // its own thread
// In the child of a fork, where the clocks of kernel threads begin anew; null: the caller has no carrier.
void cpu_after_fork(carrier *k) noexcept;
// The context's own kernel thread is another one from now on.
void donor_was_replaced(carrier *promoted, context *c) noexcept;

} // namespace comity::core
