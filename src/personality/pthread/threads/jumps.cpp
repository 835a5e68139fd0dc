// sigsetjmp and siglongjmp that save and restore the mask: the thread's own, where the C library's take the kernel
// thread's. README.md, "Signals".
#include "core/promotion.hpp"
#include "personality/pthread/threads/faults.hpp"
#include "personality/pthread/threads/object.hpp"
#include "personality/pthread/threads/signals.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/c_library.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"

#include <bit>
#include <csetjmp>

#include <sys/resource.h>

namespace comity::posix {

namespace {

using set_function = int (*)(__jmp_buf_tag *, int);
using jump_function = void (*)(__jmp_buf_tag *, int);
COMITY_NEXT_SYMBOL next<set_function> next_set{"__sigsetjmp"};
COMITY_NEXT_SYMBOL next<jump_function> next_jump{"siglongjmp"};
COMITY_NEXT_SYMBOL next<jump_function> next_checked_jump{"__longjmp_chk"};

// Within the C library's room for a mask, of which the kernel's takes 8 bytes, and a shadow stack's pointer 8 of the
// next 16.
struct kept {
    static constexpr unsigned long mark = 0x796d6f63'6b73616dUL;
    static constexpr int mark_at = 8, mask_at = 9;
};
static_assert(sizeof(__sigset_t) >= sizeof(unsigned long) * (kept::mask_at + 1));

// The C library mixes the stack pointer in a buffer with a secret of the process.
#if defined(__x86_64__)
std::uintptr_t sp_in(const __jmp_buf_tag &b) noexcept {
    std::uintptr_t secret = 0;
    asm("movq %%fs:0x30, %0" : "=r"(secret));
    return std::rotr(static_cast<std::uintptr_t>(b.__jmpbuf[6]), 17) ^ secret;
}
#elif defined(__aarch64__)
const std::uintptr_t *secret = nullptr; // found before the first use
std::uintptr_t sp_in(const __jmp_buf_tag &b) noexcept {
    return static_cast<std::uintptr_t>(b.__jmpbuf[13]) ^ (secret ? *secret : 0);
}
#endif

sys::address_range first_stack;

bool can_read_sp = false; // is it so in this C library?
__attribute__((constructor)) void try_to_read_sp() noexcept {
    if (const void *end = sys::find_symbol("__libc_stack_end")) {
        constexpr rlim_t usual = 8U << 20;
        rlimit limit{};
        if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > 64 * usual) limit.rlim_cur = usual;
        first_stack.end = *static_cast<const std::uintptr_t *>(end);
        first_stack.begin = first_stack.end - limit.rlim_cur;
    }
#if defined(__aarch64__)
    secret = static_cast<const std::uintptr_t *>(sys::find_symbol("__pointer_chk_guard"));
#endif
    jmp_buf here;
    (void)next_set.get()(here, 0); // nobody jumps there
    constexpr std::uintptr_t near = 4096;
    can_read_sp = sp_in(*here) - reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + near < 2 * near;
}

// The caller jumps: what stands below is left.
void leave_for(const __jmp_buf_tag &to, receiver &r) noexcept {
    const signal_set mask = r.blocked.load(std::memory_order_relaxed);
    if (can_read_sp) leave_handlers_below(r, sp_in(to));
    r.blocked.store(mask, std::memory_order_relaxed);
}

// It has the mask from then.
void restore_mask(const __jmp_buf_tag &to, receiver &r) {
    const unsigned long *room = to.__saved_mask.__val;
    const bool is_ours = room[kept::mark_at] == kept::mark; // else it was saved before the first thread was created
    const signal_set mask = room[is_ours ? kept::mask_at : 0] & ~never_blocked;
    claim(mask);
    r.blocked.store(mask, std::memory_order_relaxed);
    if (is_due(r)) deliver(r);
}

// Is the address on the stack of the process's first thread, as large as it could be at the start?
bool is_on_first_stack(std::uintptr_t sp) noexcept { return sp <= first_stack.end && sp >= first_stack.begin; }

// A rank that jumps out of its region to where the first thread has opened it: both would be on that stack.
void refuse_jump_off_rank(const __jmp_buf_tag &to) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (!can_read_sp || !is_rank() || !is_on_first_stack(sp_in(to)) || is_on_first_stack(here)) return;
    sys::fatal("longjmp",
               "a thread of a parallel region jumps out of it, to the stack of the thread that opened it and is "
               "using it; only a jump within the region is defined");
}

[[noreturn]] void jump(next<jump_function> &librarys, __jmp_buf_tag *to, int value) {
    leave_handler_amid_comity(can_read_sp ? sp_in(*to) : UINTPTR_MAX);
    receiver *r = receiver_here();
    if (!r) {
        innermost_call = nullptr; // which a handler leaves by this; or it is in a call still, which then goes on
        refuse_jump_off_rank(*to);
    }
    if (!r || !(to->__mask_was_saved || leaves_something(*r)) || in_vforked_child()) {
        librarys.get()(to, value);
        __builtin_unreachable();
    }
    leave_for(*to, *r);
    __jmp_buf_tag without_mask;
    if (to->__mask_was_saved) {
        restore_mask(*to, *r);
        without_mask = *to;
        without_mask.__mask_was_saved = 0;
        to = &without_mask;
    }
    core::leave_fault_handlers();
    // On its signal stack the C library would not know it, and take that for a jump into the depth.
    const bool on_signal_stack = is_on(r->alternate, reinterpret_cast<std::uintptr_t>(&without_mask));
    (on_signal_stack ? next_jump : librarys).get()(to, value);
    __builtin_unreachable();
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// sigsetjmp returns twice, so the C library's is jumped to, on the frame of the program's that has called ours. Before
// that comity_before_jumps notes the mask.
extern "C" [[gnu::visibility("hidden"), gnu::used]] set_function comity_before_jumps(__jmp_buf_tag *here,
                                                                                     int saves_mask) noexcept {
    if (saves_mask) {
        const receiver *r = settled_receiver_here();
        unsigned long *room = here->__saved_mask.__val;
        room[kept::mark_at] = r ? kept::mark : 0;
        room[kept::mask_at] = r ? r->blocked.load(std::memory_order_relaxed) : 0;
    }
    return next_set.get();
}

#if defined(__x86_64__)
asm(R"(
    .text
    .globl setjmp
    .type setjmp, @function
setjmp:
    movl $1, %esi
    .globl __sigsetjmp
    .type __sigsetjmp, @function
__sigsetjmp:
    .cfi_startproc
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call comity_before_jumps
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmpq *%rax
    .cfi_endproc
    .size __sigsetjmp, .-__sigsetjmp
    .size setjmp, .-setjmp
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl setjmp
    .type setjmp, %function
setjmp:
    mov w1, #1
    .globl __sigsetjmp
    .type __sigsetjmp, %function
__sigsetjmp:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_adjust_cfa_offset 32
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    bl comity_before_jumps
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_adjust_cfa_offset -32
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc
    .size __sigsetjmp, .-__sigsetjmp
    .size setjmp, .-setjmp
)");
#endif

// NOLINTBEGIN(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name): glibc's names

COMITY_INTERPOSED void siglongjmp(sigjmp_buf to, int value) noexcept { jump(next_jump, to, value); }
COMITY_INTERPOSED void longjmp(jmp_buf to, int value) noexcept { jump(next_jump, to, value); }
COMITY_INTERPOSED void _longjmp(jmp_buf to, int value) noexcept { jump(next_jump, to, value); }
COMITY_INTERPOSED void __longjmp_chk(jmp_buf to, int value) noexcept __attribute__((noreturn));
void __longjmp_chk(jmp_buf to, int value) noexcept { jump(next_checked_jump, to, value); }

// NOLINTEND(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name)
