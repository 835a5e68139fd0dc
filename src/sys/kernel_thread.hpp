// Kernel threads: starting them, their ids, and the CPU time of any of them. The functions of pthreads that Comity uses
// itself are taken from the C library directly, past every drop-in that intercepts them. Nothing here switches context.
#pragma once

#include <cstddef>
#include <cstdint>

namespace comity::sys {

using thread_function = void *(*)(void *);

// Starts a detached kernel thread with all signals blocked except those of faults (so that the program's handlers run
// on the program's own threads). stack_size 0 is the C library's default. Any thread, not in a signal handler. Returns
// 0 or an error number: EAGAIN when a limit on threads or memory is reached.
int start_kernel_thread(thread_function function, void *argument, std::size_t stack_size) noexcept;

// Names the calling kernel thread for ps, top and gdb; 15 characters are kept. Any thread and signal handlers.
void name_kernel_thread(const char *name) noexcept;

// The calling kernel thread's id, by a system call. Any thread and signal handlers.
int kernel_thread_id() noexcept;

// CPU time that thread `id` of this process has used, in nanoseconds, or -1 when there is no such thread.
// Any thread and signal handlers.
std::int64_t thread_cpu_ns(int id) noexcept;

// Gives the rest of the time slice to another kernel thread: sched_yield past every drop-in.
void yield_kernel_thread() noexcept;

} // namespace comity::sys
