// What signals a full context has blocked itself goes along with it from kernel thread to kernel thread, as its storage
// does. README.md, "Masks of contexts".
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::core {

struct carrier;
struct context;
struct tls_block;

// The calling thread has changed the kernel's mask of its kernel thread, which was `before`: if it is a full context,
// the mask is its own from here on, wherever it goes on. A kernel thread's own computation keeps its mask anyway. Any
// thread of the program; does not switch.
COMITY_SHARED void note_own_mask(std::uint64_t before) noexcept;

// ---- For the core.

// At a switch from one TLS block to another, where some context has a mask of its own.
void carry_mask(carrier *k, const context *from, const context *to) noexcept;
// A carrier is entered in the list, under its lock.
void begin_masks(carrier *k) noexcept;
// What the context's kernel thread blocks from when it is promoted, and before it lends itself again.
std::uint64_t mask_of_promoted(const tls_block *block) noexcept;
void promoted_stops(tls_block *block) noexcept;

} // namespace comity::core
