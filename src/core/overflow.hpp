// Stack overflow is reported by name: a handler of SIGSEGV, on a signal stack of its own, looks whether the address
// lies in the guard of a context's stack, says so, and lets the signal take its usual course. A program that has a
// handler of its own keeps it.
#pragma once

namespace comity::core {

// Installs the handler unless the program has one. At start.
void watch_for_overflow() noexcept;

// Gives the calling kernel thread a signal stack unless it has one. Kept as long as the thread lives.
void give_signal_stack() noexcept;

} // namespace comity::core
