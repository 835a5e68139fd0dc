// Promotion (design rule 4: the hart moves, the carrier stays): a full context goes on, without a hart, on the kernel
// thread that lent it its TLS, and comes back to the harts when it says so. README.md, "Promotion and going home".
#pragma once

#include "core/context.hpp"
#include "sys/cpu_set.hpp"

namespace comity::core {

// Can this context be promoted? A context on a glibc TLS block has no kernel thread of its own.
bool promotable(const context *c) noexcept;

// Can full contexts be promoted in this process?
bool can_promote() noexcept;

// The fresh or paused context `c`, which nobody else may resume, goes on on its donor's kernel thread; a fresh one
// starts with fn(arg). Until demote it is the native context of that thread: an adopted one, without a hart. Returns at
// once. Any thread. False: no memory; nothing happened.
bool promote(context *c, void (*fn)(void *), void *arg) noexcept;

// Does what promote needs memory for beforehand; false: there is none.
bool prepare_promotion(context *c) noexcept;

// After prepare_promotion: once promoted, the context runs on these CPUs, which stay where they are, wherever harts may
// run; null: anywhere. `id` as for run_on. Holds for further promotions too.
void place_promotion(context *c, const sys::cpu_set *cpus, std::uint64_t id) noexcept;

// The same for the calling context, which holds a hart; it goes on there, and the hart with the current scheduler.
// False: it cannot be promoted, and nothing happened. Switches.
COMITY_SHARED bool promote_caller() noexcept;

// What the context's own kernel thread has used of a CPU for other contexts.
std::int64_t promoted_others_cpu(const context *c) noexcept;

// Is the context promoted, so that it can come back by demote?
COMITY_SHARED bool is_promoted(const context *c) noexcept;

// A context that is promoted, or is prepared for that, is in the middle of something in which others count on it where
// it is (true), or has ended that. Returns what it was before. By itself, or as it is about to be promoted.
bool stay_promoted(context *c, bool stays) noexcept;
// Is the calling context promoted, and not in the middle of such a thing?
COMITY_SHARED bool may_demote(const context *c) noexcept;

// The calling context is about to begin something for which it had better have a hart again: one that is promoted and
// may be demoted goes back to its scheduler by `way`, which its scheduler's owner has given for the process, and which
// returns when it has a hart. Switches.
COMITY_SHARED void set_way_home(void (*way)() noexcept) noexcept;
void go_back_home(const context *c) noexcept;

// Stops the calling promoted context, which must hold no hart, and runs then(arg) on the kernel thread's own stack:
// from there the context may be resumed by any hart, once the thread sleeps (promotion_over). Returns when it is
// resumed.
COMITY_SHARED void demote(context *c, void (*then)(void *), void *arg) noexcept;

// After demote: does the kernel thread sleep, so that the context's TLS is free?
COMITY_SHARED bool promotion_over(const context *c) noexcept;

// The calling context leaves, by a jump, handlers that the kernel has called: of faults. For them the kernel thread
// blocks signals, of which it blocks again what kernel threads do that run such a context.
COMITY_SHARED void leave_fault_handlers() noexcept;

// In the child of a fork, before anything else can run there: the calling context is the native one of the only kernel
// thread for as long as the process, without a hart and outside every scheduler, wherever it was. Its carrier from now
// on.
carrier *stay_after_fork(carrier *k) noexcept;

void free_promotion(context *c) noexcept;

} // namespace comity::core
