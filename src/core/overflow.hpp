// Stack overflow is reported by name: a handler of SIGSEGV, on a signal stack of its own, looks whether the address
// lies in the guard of a context's stack, or below that of an adopted thread, says so, and lets the signal take its
// usual course. A program that has a handler of its own keeps it.
#pragma once

namespace comity::core {

struct context;

// The name of what runs on the context, or null. Called in a handler of SIGSEGV.
using name_fn = const char *(*)(const context *c) noexcept;
// From now on a report has the names that this function gives. Any thread.
void name_contexts_by(name_fn f) noexcept;

// Installs the handler unless the program has one. At start.
void watch_for_overflow() noexcept;

// Gives the calling kernel thread a signal stack unless it has one: `memory`, that of a kernel thread that has ended,
// or fresh memory if null. Returns which, for free_signal_stack when the thread has ended.
void *give_signal_stack(void *memory = nullptr) noexcept;
void free_signal_stack(void *memory) noexcept;
// The calling kernel thread, which was given it, has none any more; null: it was not.
void take_signal_stack(void *memory) noexcept;

} // namespace comity::core
