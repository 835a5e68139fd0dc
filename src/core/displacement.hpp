// Displacement: the thread of a program whose own computation may go on, but which is with another context that neither
// ends nor stops, is interrupted, and that context goes on as promoted. README.md, "Displacement".
#pragma once

#include "sys/shared.hpp"

namespace comity::core {

// To be called regularly, on one thread. Does any thread's own computation wait for its thread? One that does for
// `looks` calls is given it back, if the context there can be promoted.
COMITY_SHARED bool look_after_homes(unsigned looks) noexcept;

// The object that this address is in is part of Comity: a context is not displaced while it executes code there. Any
// thread.
COMITY_SHARED void protect_code_at(const void *address) noexcept;

} // namespace comity::core
