// The register through which code finds its thread-local storage: FS base on x86-64, tpidr_el0 on aarch64.
//
// Between set_tls_base() and the switch to the stack that belongs to the new block nothing may use thread-local storage
// (errno included), and no instrumented function may be entered or left: the sanitizers keep their state of a thread in
// its TLS. The functions here are inlined even at -O0 for that.
#pragma once

#include "sys/thread_pointer.hpp"

#include <cstdint>

namespace comity::core {

// May user code write FS base (FSGSBASE: Ivy Bridge or later and Linux 5.9)? While false a system call does it,
// which is always right. Written once, by detect_tls_base(); aarch64 does not look at it.
extern constinit bool has_fsgsbase;

// Sets has_fsgsbase. Any thread; several may call it at once.
void detect_tls_base() noexcept;

// The calling kernel thread's base. A fresh read each time, also after the context has moved.
[[gnu::always_inline]] inline std::uintptr_t tls_base() noexcept { return sys::thread_pointer(); }

[[gnu::always_inline]] inline void set_tls_base(std::uintptr_t base) noexcept {
#if defined(__x86_64__)
    if (has_fsgsbase) [[likely]] {
        asm volatile("wrfsbase %0" ::"r"(base) : "memory");
        return;
    }
    constexpr long arch_prctl = 158, set_fs = 0x1002;
    long result = arch_prctl;
    // By hand: the C library's wrapper would write errno, which by then is another block's. It fails for no address
    // that a block can have.
    asm volatile("syscall" : "+a"(result) : "D"(set_fs), "S"(base) : "rcx", "r11", "memory");
#else
    asm volatile("msr tpidr_el0, %0" ::"r"(base) : "memory");
#endif
}

// The same where changes_base_at_once().
[[gnu::always_inline]] inline void set_tls_base_at_once(std::uintptr_t base) noexcept {
#if defined(__x86_64__)
    asm volatile("wrfsbase %0" ::"r"(base) : "memory");
#else
    set_tls_base(base);
#endif
}
inline bool changes_base_at_once() noexcept {
#if defined(__x86_64__)
    return has_fsgsbase;
#else
    return true;
#endif
}

} // namespace comity::core
