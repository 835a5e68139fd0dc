// The fence between a store and a later load.
#pragma once

#include <atomic>

namespace comity::sys {

// As std::atomic_thread_fence, for the one order that needs an instruction on x86-64 too; it is named at the call. There compilers lock the word at the stack pointer, which
// in a function without a frame is the return address: its return would wait. A word that nobody reads soon is as good.
[[gnu::always_inline]] inline void store_load_fence([[maybe_unused]] std::memory_order order) noexcept {
#if defined(__x86_64__)
    asm volatile("lock orl $0, -64(%%rsp)" ::: "memory", "cc");
#else
    std::atomic_thread_fence(order);
#endif
}

} // namespace comity::sys
