// The fence between a store and a later load.
#pragma once

#include "sys/shared.hpp"

#include <atomic>

namespace comity::sys {

// As std::atomic_thread_fence, for the one order that needs an instruction on x86-64 too; it is named at the call.
// There compilers lock the word at the stack pointer, which in a function without a frame is the return address: its
// return would wait. A word that nobody reads soon is as good.
[[gnu::always_inline]] inline void store_load_fence([[maybe_unused]] std::memory_order order) noexcept {
#if defined(__x86_64__)
    asm volatile("lock orl $0, -64(%%rsp)" ::: "memory", "cc");
#else
    std::atomic_thread_fence(order);
#endif
}

// As std::atomic_thread_fence, where the caller's last change is an atomic read-modify-write operation: on x86-64 that
// was a fence already.
[[gnu::always_inline]] inline void fence_after_change(std::memory_order order) noexcept {
#if defined(__x86_64__)
    std::atomic_signal_fence(order);
#else
    std::atomic_thread_fence(order);
#endif
}

// A pair of sequentially consistent fences for two sides of which one comes often and one seldom: the seldom one
// interrupts the process' other running threads (membarrier(2)), so that the often one only has to keep the compiler
// from reordering. Where the kernel has no such call both are ordinary fences.
extern COMITY_SHARED std::atomic<bool> fences_are_uneven;
// Finds that out. When the library is loaded, or before its first threads if other constructors start some before.
void prepare_fences() noexcept;

[[gnu::always_inline]] inline void light_fence() noexcept {
    if (fences_are_uneven.load(std::memory_order_relaxed)) [[likely]]
        return std::atomic_signal_fence(std::memory_order_seq_cst); // seq_cst[uneven]
    std::atomic_thread_fence(std::memory_order_seq_cst);            // seq_cst[uneven]
}
// Takes microseconds.
COMITY_SHARED void heavy_fence() noexcept;

} // namespace comity::sys
