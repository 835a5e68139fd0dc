// Kernel state: what the kernel keeps for each kernel thread (a filter of system calls, credentials, CPUs, priority,
// namespaces and so on). It belongs to the program's thread that has changed it. README.md, "Kernel state".
#pragma once

#include "sys/shared.hpp"

namespace comity::core {

// Kinds of it, as bits. `other` stays until the thread ends; of the first two a thread can see that it has none of its
// own any more.
namespace kernel_state {
constexpr unsigned cpus = 1, policy = 2, other = 4;
}

// What the calling thread has of its own; 0: its kernel state is the process'.
COMITY_SHARED unsigned own_kernel_state() noexcept;

// The calling thread is about to change `what`: from here on it is on a kernel thread that carries nobody else, without
// a hart, as long as it has state of its own, and threads that it makes inherit from that. In a process in which Comity
// has no kernel threads yet nothing has to be done: all that are made later inherit. False: it cannot leave the hart
// that it has; nothing has changed. Any thread of the program, in its own code; may switch.
COMITY_SHARED bool begin_kernel_state(unsigned what) noexcept;

// The calling thread has no `what` of its own any more, or was refused it.
COMITY_SHARED void end_kernel_state(unsigned what) noexcept;

// A thread is about to be made that will have such state from its begin. By its maker.
COMITY_SHARED void prepare_kernel_state() noexcept;
// By the new thread, which is a kernel thread of the program's.
COMITY_SHARED void inherit_kernel_state(unsigned what) noexcept;

} // namespace comity::core
