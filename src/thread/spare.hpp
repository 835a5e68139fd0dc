// Contexts that no thread uses and that all harts share, beside those that each hart keeps itself (cache.hpp), and the
// kernel thread that frees those that nobody has needed for a while. README.md, "Spare contexts".
#pragma once

#include "core/context.hpp"

namespace comity {

// ---- With thread-local storage. Nothing switches.

// At most n of them in out[0..]; returns how many.
unsigned take_full_contexts(core::context **out, unsigned n) noexcept;
// These have no id that the program was told.
void share_full_contexts(core::context *const *contexts, unsigned n) noexcept;
// The program knows the id of the context's kernel thread, and may take a thread that has the same id for the one that
// has ended. So the context rests until as many others have ended: the kernel, too, gives an id again only after all
// others. Returns one that need not rest any more, or null.
core::context *let_rest(core::context *c) noexcept;
// One that rests, where no other context is to be had; or null.
core::context *wake_one() noexcept;
// One that others may use was made (+1) or destroyed (-1) by the caller.
void count_full_context(int change) noexcept;

// ---- Bare ones of the default size.

unsigned take_bare_contexts(core::context **out, unsigned n) noexcept;
// False: there are enough; they stay the caller's.
bool share_bare_contexts(core::context *const *contexts, unsigned n) noexcept;
// Of any size: so many were made, or (less than 0) destroyed.
void count_bare_contexts(int change) noexcept;

// ---- For tests: how long a context is kept that nobody needs, instead of five seconds.
void set_spare_patience(std::int64_t ns) noexcept;

} // namespace comity
