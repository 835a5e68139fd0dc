/* Context switch, System V ABI for x86-64. The frame of a saved context, from its saved stack pointer upwards:
 *
 *      +0   MXCSR (4 bytes), x87 control word (2), pad
 *      +8   r15
 *      +16  r14
 *      +24  r13
 *      +32  r12
 *      +40  rbx
 *      +48  rbp
 *      +56  return address
 *
 * tools/gdb reads this frame to show parked contexts: change both together. */
#if defined(__x86_64__)

#define REGISTERS_SAVE \
        pushq   %rbp; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0; \
        pushq   %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbx, 0; \
        pushq   %r12; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r12, 0; \
        pushq   %r13; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r13, 0; \
        pushq   %r14; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r14, 0; \
        pushq   %r15; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r15, 0; \
        subq    $8, %rsp; .cfi_adjust_cfa_offset 8

#define FRAME_SAVE \
        REGISTERS_SAVE; \
        stmxcsr (%rsp); \
        fnstcw  4(%rsp)

#define REGISTERS_RESTORE \
        addq    $8, %rsp; .cfi_adjust_cfa_offset -8; \
        popq    %r15; .cfi_adjust_cfa_offset -8; .cfi_restore r15; \
        popq    %r14; .cfi_adjust_cfa_offset -8; .cfi_restore r14; \
        popq    %r13; .cfi_adjust_cfa_offset -8; .cfi_restore r13; \
        popq    %r12; .cfi_adjust_cfa_offset -8; .cfi_restore r12; \
        popq    %rbx; .cfi_adjust_cfa_offset -8; .cfi_restore rbx; \
        popq    %rbp; .cfi_adjust_cfa_offset -8; .cfi_restore rbp

        /* Loading a control word that is already in force costs tens of cycles, so compare first; but MXCSR where that
           is dearer. Its low six bits are status flags: each context has its own, since threads of the program are
           contexts, and numpy, say, asks for its flags after it has waited for Python's lock. Only the sixth, "inexact",
           is left as it is: nearly every operation sets it. `live`: the control words in force, as FRAME_SAVE stores
           them, but MXCSR perhaps only by `store_mxcsr`. */
#define FRAME_RESTORE(live, store_mxcsr) \
        cmpb    $0, comity_arch_loads_mxcsr(%rip); \
        jne     1f; \
        store_mxcsr; \
        movl    live, %eax; \
        xorl    (%rsp), %eax; \
        testl   $0xffdf, %eax; \
        je      2f; \
1:      ldmxcsr (%rsp); \
2:      movzwl  4+live, %eax; \
        cmpw    4(%rsp), %ax; \
        je      3f; \
        fldcw   4(%rsp); \
3:      REGISTERS_RESTORE

        /* AMD's processors read late what stmxcsr has written, and load MXCSR in a cycle or two: a switch takes 15
           cycles instead of 20 (Zen 4) if it is loaded unseen. Intel's take up to 170 to load other flags. */
        .comm   comity_arch_loads_mxcsr, 1, 1
        .hidden comity_arch_loads_mxcsr

        .text

find_what_is_cheap:
        .cfi_startproc
        endbr64
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        xorl    %eax, %eax
        cpuid
        cmpl    $0x68747541, %ebx       /* "Auth" of "AuthenticAMD" */
        sete    comity_arch_loads_mxcsr(%rip)
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        ret
        .cfi_endproc
        .size   find_what_is_cheap, .-find_what_is_cheap
        .type   find_what_is_cheap, @function

        .section .init_array, "aw"
        .p2align 3
        .quad   find_what_is_cheap
        .text

/* void comity_arch_switch(void **save /rdi/, void *to /rsi/, after_fn after /rdx/, void *arg /rcx/) */
        .globl  comity_arch_switch
        .hidden comity_arch_switch
        .type   comity_arch_switch, @function
        .p2align 4
comity_arch_switch:
        .cfi_startproc
        endbr64
        FRAME_SAVE
        movq    %rsp, (%rdi)
        movq    %rsp, %r8
        movq    %rsi, %rsp
        FRAME_RESTORE(0(%r8), )
        testq   %rdx, %rdx
        je      4f
        movq    %rcx, %rdi
        jmp     *%rdx                   /* returns to the caller of the saved switch */
4:      ret
        .cfi_endproc
        .size   comity_arch_switch, .-comity_arch_switch

/* void comity_arch_save_call(void **save /rdi/, void *stack_top /rsi/, entry_fn entry /rdx/, void *a /rcx/, void *b /r8/) */
        .globl  comity_arch_save_call
        .hidden comity_arch_save_call
        .type   comity_arch_save_call, @function
        .p2align 4
comity_arch_save_call:
        .cfi_startproc
        endbr64
        FRAME_SAVE
        movq    %rsp, (%rdi)
        .cfi_endproc
        .cfi_startproc                  /* from here on a backtrace ends: the stack is new */
        .cfi_undefined rip
        movq    %rsi, %rsp
        movq    %rcx, %rdi
        movq    %r8, %rsi
        xorl    %ebp, %ebp
        pushq   $0                      /* ends frame-pointer walks as well */
        pushq   $0
        call    *%rdx
        ud2
        .cfi_endproc
        .size   comity_arch_save_call, .-comity_arch_save_call

/* void comity_arch_call(void **save /rdi/, void *stack_top /rsi/, entry_fn entry /rdx/, void *a /rcx/, void *b /r8/) */
        .globl  comity_arch_call
        .hidden comity_arch_call
        .type   comity_arch_call, @function
        .p2align 4
comity_arch_call:
        .cfi_startproc
        endbr64
        FRAME_SAVE
        movq    %rsp, (%rdi)
        movq    %rsp, %rax
        .cfi_endproc
        .cfi_startproc                  /* from here on a backtrace ends: the stack is new */
        .cfi_undefined rip
        movq    %rsi, %rsp
        pushq   %rax                    /* twice: the stack stays aligned */
        pushq   %rax
        movq    %rcx, %rdi
        movq    %r8, %rsi
        call    *%rdx
        popq    %rsp                    /* entry has left the saved registers as they were: drop the frame */
        addq    $56, %rsp
        ret
        .cfi_endproc
        .size   comity_arch_call, .-comity_arch_call

/* void comity_arch_call_on(void *stack_top /rdi/, entry_fn entry /rsi/, void *a /rdx/, void *b /rcx/) */
        .globl  comity_arch_call_on
        .hidden comity_arch_call_on
        .type   comity_arch_call_on, @function
        .p2align 4
comity_arch_call_on:
        .cfi_startproc
        endbr64
        movq    %rsp, %rax
        .cfi_endproc
        .cfi_startproc                  /* from here on a backtrace ends: the stack is new */
        .cfi_undefined rip
        movq    %rdi, %rsp
        pushq   %rax                    /* twice: the stack stays aligned */
        pushq   %rax
        movq    %rsi, %rax
        movq    %rdx, %rdi
        movq    %rcx, %rsi
        call    *%rax
        popq    %rsp
        ret
        .cfi_endproc
        .size   comity_arch_call_on, .-comity_arch_call_on

/* void *comity_arch_call_here(void **save /rdi/, void *(*fn)(void *) /rsi/, void *arg /rdx/) */
        .globl  comity_arch_call_here
        .hidden comity_arch_call_here
        .type   comity_arch_call_here, @function
        .p2align 4
comity_arch_call_here:
        .cfi_startproc
        endbr64
        REGISTERS_SAVE
        movq    %rsp, (%rdi)
        movq    %rdx, %rdi
        call    *%rsi
        addq    $56, %rsp               /* fn has left the saved registers as they were: drop the frame */
        .cfi_adjust_cfa_offset -56
        ret
        .cfi_endproc
        .size   comity_arch_call_here, .-comity_arch_call_here

/* void comity_arch_jump_call(void *stack_top /rdi/, entry_fn entry /rsi/, void *a /rdx/, void *b /rcx/) */
        .globl  comity_arch_jump_call
        .hidden comity_arch_jump_call
        .type   comity_arch_jump_call, @function
        .p2align 4
comity_arch_jump_call:
        .cfi_startproc
        .cfi_undefined rip
        endbr64
        movq    %rdi, %rsp
        movq    %rsi, %rax
        movq    %rdx, %rdi
        movq    %rcx, %rsi
        xorl    %ebp, %ebp
        pushq   $0
        pushq   $0
        call    *%rax
        ud2
        .cfi_endproc
        .size   comity_arch_jump_call, .-comity_arch_jump_call

/* void comity_arch_resume(void *to /rdi/, after_fn after /rsi/, void *arg /rdx/) */
        .globl  comity_arch_resume
        .hidden comity_arch_resume
        .type   comity_arch_resume, @function
        .p2align 4
comity_arch_resume:
        .cfi_startproc
        .cfi_def_cfa rsp, 64
        endbr64
        movq    %rdi, %rsp
        fnstcw  -4(%rsp)                /* below rsp: scratch */
        FRAME_RESTORE(-8(%rsp), stmxcsr -8(%rsp))
        testq   %rsi, %rsi
        je      4f
        movq    %rdx, %rdi
        jmp     *%rsi
4:      ret
        .cfi_endproc
        .size   comity_arch_resume, .-comity_arch_resume

/* void comity_arch_leave(void *to /rdi/) */
        .globl  comity_arch_leave
        .hidden comity_arch_leave
        .type   comity_arch_leave, @function
        .p2align 4
comity_arch_leave:
        .cfi_startproc
        .cfi_def_cfa rsp, 64
        endbr64
        movq    %rdi, %rsp
        REGISTERS_RESTORE
        ret
        .cfi_endproc
        .size   comity_arch_leave, .-comity_arch_leave

/* comity_arch_change_base: sets the base to rax by a system call, if the byte at rdi is 1, or calls
 * comity_change_base(rdi, rsi, rdx, rax); it changes no general register. It is called by an instruction in the middle of a function, so that the usual way there needs no frame. */
        .text
        .globl  comity_arch_change_base
        .hidden comity_arch_change_base
        .type   comity_arch_change_base, @function
        .p2align 4
comity_arch_change_base:
        .cfi_startproc
        cmpb    $1, (%rdi)
        jne     1f
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %r11
        .cfi_adjust_cfa_offset 8
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        movq    %rax, %rsi
        movl    $0x1002, %edi           /* ARCH_SET_FS */
        movl    $158, %eax              /* arch_prctl */
        syscall
        popq    %rax
        .cfi_adjust_cfa_offset -8
        popq    %r11
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        ret
1:
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r8
        pushq   %r9
        pushq   %r10
        pushq   %r11
        andq    $-16, %rsp
        movq    %rax, %rcx
        call    comity_change_base
        leaq    -72(%rbp), %rsp
        popq    %r11
        popq    %r10
        popq    %r9
        popq    %r8
        popq    %rdi
        popq    %rsi
        popq    %rdx
        popq    %rcx
        popq    %rax
        popq    %rbp
        .cfi_def_cfa rsp, 8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   comity_arch_change_base, . - comity_arch_change_base

#endif

/* Also when the file is empty for this machine: no executable stack. */
#if defined(__arm__) || defined(__aarch64__)
        .section .note.GNU-stack, "", %progbits
#else
        .section .note.GNU-stack, "", @progbits
#endif
