// The machine's context switch: a few primitives, one assembly file per ABI.
#pragma once

#include <cstdint>

namespace comity::core::arch {

using after_fn = void (*)(void *arg);
using entry_fn = void (*)(void *a, void *b);

extern "C" {
// Saves the caller's registers and stack pointer in *save, continues where `to` was saved, and there runs
// after(arg), unless it is null, before the primitive that saved `to` returns: by then the old stack is free for others
// to run on.
void comity_arch_switch(void **save, void *to, after_fn after, void *arg) noexcept;

// Saves the caller in *save and calls entry(a, b) on the stack that ends at stack_top (16-byte aligned). entry must not
// return.
void comity_arch_save_call(void **save, void *stack_top, entry_fn entry, void *a, void *b) noexcept;

// Saves the caller in *save like the others, and calls entry(a, b) on the stack that ends at stack_top. If entry
// returns, the caller goes on by an ordinary return, without its registers being loaded (return on completion: Iwasaki,
// section 3.4.1); if the caller is resumed from *save by a switch instead, entry must not return.
void comity_arch_call(void **save, void *stack_top, entry_fn entry, void *a, void *b) noexcept;

// Calls entry(a, b) on the stack that ends at stack_top and saves nothing: the caller goes on by an ordinary return, or
// never (stack separation: Iwasaki, section 3.4.2).
void comity_arch_call_on(void *stack_top, entry_fn entry, void *a, void *b) noexcept;

// Calls fn(arg) on the caller's own stack and saves the caller in *save, but for the floating-point modes: it finds
// those that fn leaves. It goes on when fn returns, with fn's result, or when somebody on this stack gives up all that
// stands on it since, by comity_arch_leave(*save); then the result is anything.
void *comity_arch_call_here(void **save, void *(*fn)(void *), void *arg) noexcept;
[[noreturn]] void comity_arch_leave(void *to) noexcept;

// Calls entry(a, b) on the stack that ends at stack_top; the current stack's contents are dead.
[[noreturn]] void comity_arch_jump_call(void *stack_top, entry_fn entry, void *a, void *b) noexcept;

// Continues where `to` was saved and there runs after(arg), unless it is null; the current stack's contents are dead.
[[noreturn]] void comity_arch_resume(void *to, after_fn after, void *arg) noexcept;

// What call_change_base calls (carrier.cpp).
void comity_change_base(void *unusual, void *from, void *to, std::uintptr_t base) noexcept;
}

// Calls comity_change_base; if the byte `unusual` is 1, nothing but the base is to change. On x86-64 all general
// registers stay as they are, so that a function in which this is rare needs no frame for it. The function must call
// others, too: what lies below its stack pointer is overwritten.
[[gnu::always_inline]] inline void call_change_base(void *unusual, void *from, void *to, std::uintptr_t base) noexcept {
#if defined(__x86_64__)
    asm volatile("call comity_arch_change_base"
                 :
                 : "D"(unusual), "S"(from), "d"(to), "a"(base)
                 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#else
    comity_change_base(unusual, from, to, base);
#endif
}

} // namespace comity::core::arch
