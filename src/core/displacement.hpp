// Displacement: a kernel thread that is with a context which neither ends nor stops, while its own computation or
// others wait for it, is interrupted, and that context goes on as promoted. README.md, "Displacement".
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::core {

struct context;

// To be called regularly, on one thread. Does any thread's own computation wait for its thread? One that does for
// `looks` calls is given it back, if the context there can be promoted. `harts_missing`: others wait for a hart in
// vain; then every carrier that has been with one context for that long gives it up.
COMITY_SHARED bool look_after_homes(unsigned looks, bool harts_missing) noexcept;

// The object that this address is in is part of Comity: a context is not displaced while it executes code there. Any
// thread.
COMITY_SHARED void protect_code_at(const void *address) noexcept;

// Is this address in such an object? Any thread, also in a handler.
COMITY_SHARED bool is_protected_code(std::uintptr_t pc) noexcept;

// Carriers take interruptions (sys/interruption.hpp) from the first call on; false: they cannot.
COMITY_SHARED bool take_interruptions() noexcept;

// Interrupts the kernel thread that seems to run the context, if one does. Any thread.
COMITY_SHARED void interrupt(const context *c) noexcept;

} // namespace comity::core
