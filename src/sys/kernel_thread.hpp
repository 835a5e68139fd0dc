// Kernel threads: starting them, their ids, and the CPU time of any of them. The functions of pthreads that Comity uses
// itself are taken from the C library directly, past every drop-in that intercepts them. Nothing here switches context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sys/shared.hpp"

namespace comity::sys {

class cpu_set;

using thread_function = void *(*)(void *);

// Starts a detached kernel thread with all signals blocked except those of faults. One that will run the program's code
// sets a mask itself (mask_of_carriers); its maker's may be a handler's. It inherits no kernel state of the caller's
// own (thread_maker.hpp). stack_size 0 is the C library's default. Any thread, not in a signal handler. Returns 0 or an
// error number: EAGAIN when a limit on threads or memory is reached.
COMITY_SHARED int start_kernel_thread(thread_function function, void *argument, std::size_t stack_size) noexcept;

// A kernel thread that can be joined, on memory of the caller's. 0: none.
using joinable_thread = std::uintptr_t;

// The same, joinable, on [bottom, top), where its thread-local storage lies too. The memory stays the caller's: the C
// library neither frees nor reuses it, not even in the child of a fork. EINVAL: it is too small.
int start_kernel_thread_within(void *bottom, void *top, thread_function function, void *argument,
                               joinable_thread &thread) noexcept;

// Starts a joinable kernel thread on [bottom, top), where its thread-local storage lies too, with all signals blocked
// except those of faults; it inherits the caller's kernel state. The memory stays the caller's: the C library neither
// frees nor reuses it, not even in the child of a fork. Returns 0 or an error number: EAGAIN when a limit is reached,
// EINVAL when the memory is too small.
int start_kernel_thread_on(void *bottom, void *top, thread_function function, void *argument,
                           joinable_thread &thread) noexcept;
// Binds it to one CPU. Returns 0 or an error number: EINVAL when it may not run there, or the number is above 1023,
// ESRCH when it has ended. For small stacks: a set for all numbers takes a kibibyte.
int send_kernel_thread(joinable_thread thread, int cpu) noexcept;
// Binds it. Errors as above.
int send_kernel_thread(joinable_thread thread, const cpu_set &set) noexcept;
// Waits until the thread has ended, destructors of its thread-local variables included. Sleeps the kernel thread.
void join_kernel_thread(joinable_thread thread) noexcept;

// ---- For a thread of the C library's that goes on on another kernel thread than it began on. Where the C library's
// storage of it is lent, none of this touches that (errno is the caller's own).

// Starts a bare kernel thread of which the C library knows nothing, on the stack that ends at `stack_top`, with the
// thread-local storage at `base`, and the caller's mask with all blocked that start_kernel_thread_on blocks; without
// kernel state of the caller's own. Returns its id, or an error number below 0.
int start_bare_kernel_thread(void *stack_top, std::uintptr_t base, int (*function)(void *), void *argument) noexcept;
// The list of robust mutexes that the kernel looks through when the calling kernel thread ends; null: none.
void *robust_list() noexcept;
void set_robust_list(void *head) noexcept;
// What the kernel sets to 0, and wakes who waits there, when the calling kernel thread ends; null: nothing.
void tell_end_at(int *word) noexcept;

// How many kernel threads the process may have at most, with whatever else counts: by ulimit -u, the machine's number
// of threads, or pids.max where a container sees its own.
COMITY_SHARED std::size_t kernel_thread_limit() noexcept;

// How much of a thread's memory the C library takes for itself at most: thread-local storage and its own frames.
std::size_t kernel_thread_overhead() noexcept;

// Takes back what the C library registered with the kernel for the calling kernel thread as its restartable sequences:
// from then on the library asks the kernel for the core's number, which stays right when another kernel thread runs on
// this thread's TLS. `thread_pointer` is the calling thread's. False when the kernel refuses; nothing to do is success.
bool unregister_restartable_sequences(void *thread_pointer) noexcept;

// Where the calling kernel thread's own stack lies: [bottom, bottom + size). False when the C library cannot tell.
bool kernel_thread_stack(void *&bottom, std::size_t &size) noexcept;

// Names the calling kernel thread for ps, top and gdb; 15 characters are kept. Any thread and signal handlers.
COMITY_SHARED void name_kernel_thread(const char *name) noexcept;

// The calling kernel thread's id, by a system call. Any thread and signal handlers.
COMITY_SHARED int kernel_thread_id() noexcept;

// What pthread_self says: of a full context, its own, whichever kernel thread carries it.
COMITY_SHARED std::uintptr_t thread_identity() noexcept;

// The process' id. Any thread and signal handlers.
COMITY_SHARED int process_id() noexcept;

// CPU time that thread `id` of this process has used, in nanoseconds, or -1 when there is no such thread.
// Any thread and signal handlers.
std::int64_t thread_cpu_ns(int id) noexcept;

// Is thread `id` of this process on a core, or waiting for one? False where /proc does not say. Any thread; some
// microseconds.
bool is_runnable(int id) noexcept;

// Sends a signal to a thread of this process, as tgkill. Any thread.
COMITY_SHARED void signal_kernel_thread(int id, int signal) noexcept;

// How many kernel threads the process has, whoever made them; 0 where /proc does not say. Any thread.
unsigned number_of_kernel_threads() noexcept;

// Gives the rest of the time slice to another kernel thread: sched_yield past every drop-in.
COMITY_SHARED void yield_kernel_thread() noexcept;

} // namespace comity::sys
