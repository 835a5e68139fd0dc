// The register by which code finds its thread-local storage.
#pragma once

#include <cstdint>

namespace comity::sys {

// The calling kernel thread's: FS base on x86-64, tpidr_el0 on aarch64. A fresh read each time, also after a context
// has moved. Inlined even at -O0, for callers that may not call anything (core/tls/base.hpp).
[[gnu::always_inline]] inline std::uintptr_t thread_pointer() noexcept {
    std::uintptr_t base = 0;
#if defined(__x86_64__)
    asm volatile("movq %%fs:0, %0" : "=r"(base)::"memory"); // the ABI keeps the base's value at the base
#elif defined(__aarch64__)
    asm volatile("mrs %0, tpidr_el0" : "=r"(base)::"memory");
#else
#error "this architecture's thread pointer is not known: see src/core/tls/README.md"
#endif
    return base;
}

} // namespace comity::sys
