// Where harts may run. A bound hart has a set of CPUs, and whoever carries it runs there: a worker for good, an adopted
// thread until it leaves Comity or gives the hart away for good. Without COMITY_BIND and comity_hart_bind nothing here
// costs more than a look at one flag. Rules: README.md, "Binding".
#pragma once

#include "core/carrier.hpp"
#include "sys/cpu_set.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/options.hpp"
#include "sys/own_memory.hpp"

#include <atomic>

namespace comity::core {

// For each carrier that ever carried a bound hart.
struct binding : sys::in_own_memory {
    sys::cpu_set outside;      // adopted: its own mask, to be given back
    std::uint32_t version = 0; // of the hart's CPUs, when it began to follow it
    std::uint64_t place = 0;   // where it was sent by run_on; 0: nowhere
    std::uint64_t home = 0;    // adopted: stands for `outside`, as ids of run_on do; 0: nobody knows what that is
    int hart = -1;             // the one whose CPUs its kernel thread has; -1: none's
};

// Some hart is or was bound; never false again.
extern std::atomic<bool> harts_are_bound;
// Some thread was sent somewhere by itself; never false again.
extern std::atomic<bool> threads_are_bound;

// At the start.
void start_binding(unsigned harts, sys::bind_choice what) noexcept;

// The calling kernel thread has just been given k->carried.
void bind_slowly(carrier *k) noexcept;
inline void bind_as_hart(carrier *k) noexcept {
    if (harts_are_bound.load(std::memory_order_relaxed)) [[unlikely]]
        bind_slowly(k);
}
// The calling adopted thread goes on outside Comity: it has its own mask again.
void unbind_slowly(carrier *k) noexcept;
inline void unbind(carrier *k) noexcept {
    if (k->bound) [[unlikely]]
        unbind_slowly(k);
}
// The calling kernel thread, which carries a hart or is a promoted context's, runs on these CPUs, whatever the hart's
// are, until it is sent elsewhere, takes up another hart or leaves Comity; null: where its hart does. `id` stands for
// the set, never for another one, and is not 0: the same again costs nothing. 0 or an error number.
COMITY_SHARED int run_on(carrier *k, const sys::cpu_set *cpus, std::uint64_t id) noexcept;
// The calling adopted thread runs on these CPUs also outside Comity, from now on. `id` as above. 0 or an error number.
COMITY_SHARED int settle(carrier *k, const sys::cpu_set &cpus, std::uint64_t id) noexcept;
// Its kernel thread ends, or nobody will use the carrier any more; forget_binding frees what `bound` points to, too.
void follow_none(const carrier *k) noexcept;
void forget_binding(carrier *k) noexcept;

// The calling kernel thread, which Comity has just made and which may have been made by a bound one, is no hart's.
COMITY_SHARED void run_anywhere() noexcept;
// The same for another one, which was bound for its start.
void let_run_anywhere(sys::joinable_thread thread) noexcept;

// In the child of a fork, whose only thread this is: it gets the process' mask, since it may go on with another
// program.
void binding_after_fork(carrier *survivor) noexcept;

// Binds a hart; its carrier follows at once. An empty set: no longer bound. 0 or an error number.
int bind_hart(unsigned hart, const sys::cpu_set &cpus) noexcept;

} // namespace comity::core
