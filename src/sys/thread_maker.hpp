// Kernel threads of Comity's own, where the thread that needs one has kernel state of its own (core/kernel_state.hpp):
// a new kernel thread inherits such state from the kernel thread that makes it. So another one makes it, the maker.
// Nothing here switches.
#pragma once

#include "sys/shared.hpp"

namespace comity::sys {

// What the calling kernel thread has of its own: bits of core::kernel_state; 0: nothing. Comity's own kernel threads
// have none, but for donors that such a thread has made.
extern __thread unsigned kernel_state_here __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Makes the maker, unless it is there: from a kernel thread that has no state of its own yet. Any thread.
void keep_thread_maker() noexcept;

// make(argument), which makes a kernel thread and returns a number: by the maker, with the caller's signal mask, where
// the caller has kernel state of its own and there is a maker; else by the caller. Any thread, not in a signal handler.
int make_without_state(int (*make)(void *argument), void *argument) noexcept;

// The maker ends, until keep_thread_maker makes another one. While nobody else changes its state or has some.
bool is_thread_maker_there() noexcept;
void end_thread_maker() noexcept; // it is there

// In the child of a fork, which has one kernel thread: what that has, all that are made later inherit.
void forget_thread_maker() noexcept;

} // namespace comity::sys
