// Between forks and handlers of signals. A fork takes Comity's locks before the C library takes its own, so what has
// been interrupted may hold a lock of the C library's (malloc's) for which the fork waits with Comity's in hand. A
// handler therefore takes a lock that a fork holds only in a section that no fork overlaps. README.md, "Fork".
#pragma once

#include "sys/shared.hpp"

namespace comity::core {

// In a handler: the caller may take such locks until it leaves. False: a fork is under way; what the handler wants to
// do is left to a later look. Never waits. A section does not run the program's code.
COMITY_SHARED bool enter_fork_gate() noexcept;
COMITY_SHARED void leave_fork_gate() noexcept;

// The fork, before it takes the first such lock, and after it has left the last one; calls may nest. Closing waits for
// the sections of others, which are short.
COMITY_SHARED void close_fork_gate() noexcept;
COMITY_SHARED void open_fork_gate() noexcept;
COMITY_SHARED void open_fork_gate_in_child() noexcept; // any number of times

} // namespace comity::core
