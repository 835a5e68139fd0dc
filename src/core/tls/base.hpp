// The TLS base register of the calling kernel thread.
#pragma once

#include "core/sanitizer.hpp"

#include <cstdint>
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace comity::core {

extern bool has_fsgsbase; // may user code write the register itself? Written once, at start

COMITY_UNSANITIZED __attribute__((always_inline)) inline std::uintptr_t tls_base() noexcept {
    std::uintptr_t base;
#if defined(__x86_64__)
    asm volatile("movq %%fs:0, %0" : "=r"(base)); // the ABI: the first word of the block is its address
#elif defined(__aarch64__)
    asm volatile("mrs %0, tpidr_el0" : "=r"(base));
#endif
    return base;
}

COMITY_UNSANITIZED __attribute__((always_inline)) inline void set_tls_base(std::uintptr_t base) noexcept {
#if defined(__x86_64__)
    if (has_fsgsbase) {
        asm volatile("wrfsbase %0" ::"r"(base) : "memory");
    } else {
        long result = SYS_arch_prctl;
        asm volatile("syscall" : "+a"(result) : "D"(0x1002L), "S"(base) : "rcx", "r11", "memory"); // ARCH_SET_FS
    }
#elif defined(__aarch64__)
    asm volatile("msr tpidr_el0, %0" ::"r"(base) : "memory");
#endif
}

} // namespace comity::core
