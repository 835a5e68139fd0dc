// What the C library and the kernel tell a process without a header for it. Any thread, not in a signal handler;
// nothing switches.
#pragma once

namespace comity::sys {

// The address of a symbol of any loaded library, private ones of the C library included; nullptr when there is none.
// A thread-local symbol gives its address in the calling thread.
void *find_symbol(const char *name) noexcept;

// An entry of the auxiliary vector (AT_...); 0 when the kernel gave none. Also in signal handlers.
unsigned long auxiliary_value(unsigned long type) noexcept;

} // namespace comity::sys
