// What the C library and the kernel tell a process without a header for it. Any thread, not in a signal handler;
// nothing switches.
#pragma once

#include "sys/shared.hpp"

namespace comity::sys {

// The address of a symbol of any loaded library, private ones of the C library included; nullptr when there is none.
// A thread-local symbol gives its address in the calling thread.
COMITY_SHARED void *find_symbol(const char *name) noexcept;

// The C library's own definition of a function, whatever was put before it; nullptr when it has none. A preloaded
// object that needs Comity comes before the C library in every search, and Comity mostly after it.
COMITY_SHARED void *find_in_c_library(const char *name) noexcept;

// Loads a library and what it needs, and its symbols' addresses; nullptr: `error` says why, until the thread's next
// call of these. The library's constructors run.
COMITY_SHARED void *open_library(const char *path, const char *&error) noexcept;
COMITY_SHARED void *symbol_in(void *library, const char *name, const char *&error) noexcept;

// The processor that the caller runs on at this moment; -1: the kernel does not say.
COMITY_SHARED int current_cpu() noexcept;

// An entry of the auxiliary vector (AT_...); 0 when the kernel gave none. Also in signal handlers.
unsigned long auxiliary_value(unsigned long type) noexcept;

} // namespace comity::sys
