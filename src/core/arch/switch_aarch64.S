/* Context switch, AAPCS64. The frame of a saved context, from its saved stack pointer upwards:
 *
 *      +0    x29, x30 (frame pointer, return address)
 *      +16   x19, x20      +32  x21, x22     +48  x23, x24
 *      +64   x25, x26      +80  x27, x28
 *      +96   d8, d9        +112 d10, d11     +128 d12, d13    +144 d14, d15
 *      +160  FPCR, FPSR
 *
 * tools/gdb reads this frame to show parked contexts: change both together. */
#if defined(__aarch64__)

#define FRAME 176

#define REGISTERS_SAVE \
        sub     sp, sp, #FRAME; .cfi_adjust_cfa_offset FRAME; \
        stp     x29, x30, [sp]; .cfi_rel_offset x29, 0; .cfi_rel_offset x30, 8; \
        stp     x19, x20, [sp, #16]; .cfi_rel_offset x19, 16; .cfi_rel_offset x20, 24; \
        stp     x21, x22, [sp, #32]; .cfi_rel_offset x21, 32; .cfi_rel_offset x22, 40; \
        stp     x23, x24, [sp, #48]; .cfi_rel_offset x23, 48; .cfi_rel_offset x24, 56; \
        stp     x25, x26, [sp, #64]; .cfi_rel_offset x25, 64; .cfi_rel_offset x26, 72; \
        stp     x27, x28, [sp, #80]; .cfi_rel_offset x27, 80; .cfi_rel_offset x28, 88; \
        stp     d8, d9, [sp, #96]; \
        stp     d10, d11, [sp, #112]; \
        stp     d12, d13, [sp, #128]; \
        stp     d14, d15, [sp, #144]

#define FRAME_SAVE \
        REGISTERS_SAVE; \
        mrs     x9, fpcr; \
        mrs     x10, fpsr; \
        stp     x9, x10, [sp, #160]

#define REGISTERS_RESTORE \
        ldp     d14, d15, [sp, #144]; \
        ldp     d12, d13, [sp, #128]; \
        ldp     d10, d11, [sp, #112]; \
        ldp     d8, d9, [sp, #96]; \
        ldp     x27, x28, [sp, #80]; \
        ldp     x25, x26, [sp, #64]; \
        ldp     x23, x24, [sp, #48]; \
        ldp     x21, x22, [sp, #32]; \
        ldp     x19, x20, [sp, #16]; \
        ldp     x29, x30, [sp]; \
        add     sp, sp, #FRAME; .cfi_adjust_cfa_offset -FRAME

#define FRAME_RESTORE \
        ldp     x9, x10, [sp, #160]; \
        mrs     x11, fpcr; \
        cmp     x9, x11; \
        b.eq    1f; \
        msr     fpcr, x9; \
1:      mrs     x11, fpsr; \
        cmp     x10, x11; \
        b.eq    2f; \
        msr     fpsr, x10; \
2:      REGISTERS_RESTORE

        .text

/* void comity_arch_switch(void **save /x0/, void *to /x1/, after_fn after /x2/, void *arg /x3/) */
        .globl  comity_arch_switch
        .hidden comity_arch_switch
        .type   comity_arch_switch, %function
        .p2align 4
comity_arch_switch:
        .cfi_startproc
        hint    #34                     /* bti c */
        FRAME_SAVE
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        FRAME_RESTORE
        cbz     x2, 1f
        mov     x0, x3
        mov     x16, x2                 /* x16: a tail call that BTI accepts */
        br      x16
1:      ret
        .cfi_endproc
        .size   comity_arch_switch, .-comity_arch_switch

/* void comity_arch_save_call(void **save /x0/, void *stack_top /x1/, entry_fn entry /x2/, void *a /x3/, void *b /x4/) */
        .globl  comity_arch_save_call
        .hidden comity_arch_save_call
        .type   comity_arch_save_call, %function
        .p2align 4
comity_arch_save_call:
        .cfi_startproc
        hint    #34
        FRAME_SAVE
        mov     x9, sp
        str     x9, [x0]
        .cfi_endproc
        .cfi_startproc                  /* from here on a backtrace ends: the stack is new */
        .cfi_undefined x30
        mov     sp, x1
        mov     x0, x3
        mov     x1, x4
        mov     x29, #0
        mov     x30, #0
        blr     x2
        brk     #1
        .cfi_endproc
        .size   comity_arch_save_call, .-comity_arch_save_call

/* void comity_arch_call(void **save /x0/, void *stack_top /x1/, entry_fn entry /x2/, void *a /x3/, void *b /x4/) */
        .globl  comity_arch_call
        .hidden comity_arch_call
        .type   comity_arch_call, %function
        .p2align 4
comity_arch_call:
        .cfi_startproc
        hint    #34
        FRAME_SAVE
        mov     x9, sp
        str     x9, [x0]
        .cfi_endproc
        .cfi_startproc                  /* from here on a backtrace ends: the stack is new */
        .cfi_undefined x30
        mov     sp, x1
        str     x9, [sp, #-16]!
        mov     x0, x3
        mov     x1, x4
        blr     x2
        ldr     x9, [sp]                /* entry has left the saved registers as they were: drop the frame */
        mov     sp, x9
        ldr     x30, [sp, #8]
        add     sp, sp, #FRAME
        ret
        .cfi_endproc
        .size   comity_arch_call, .-comity_arch_call

/* void comity_arch_call_on(void *stack_top /x0/, entry_fn entry /x1/, void *a /x2/, void *b /x3/) */
        .globl  comity_arch_call_on
        .hidden comity_arch_call_on
        .type   comity_arch_call_on, %function
        .p2align 4
comity_arch_call_on:
        .cfi_startproc
        hint    #34
        mov     x9, sp
        .cfi_endproc
        .cfi_startproc                  /* from here on a backtrace ends: the stack is new */
        .cfi_undefined x30
        mov     sp, x0
        stp     x9, x30, [sp, #-16]!
        mov     x9, x1
        mov     x0, x2
        mov     x1, x3
        blr     x9
        ldp     x9, x30, [sp]
        mov     sp, x9
        ret
        .cfi_endproc
        .size   comity_arch_call_on, .-comity_arch_call_on

/* void *comity_arch_call_here(void **save /x0/, void *(*fn)(void *) /x1/, void *arg /x2/) */
        .globl  comity_arch_call_here
        .hidden comity_arch_call_here
        .type   comity_arch_call_here, %function
        .p2align 4
comity_arch_call_here:
        .cfi_startproc
        hint    #34
        REGISTERS_SAVE
        mov     x9, sp
        str     x9, [x0]
        mov     x0, x2
        blr     x1
        ldr     x30, [sp, #8]           /* fn has left the saved registers as they were: drop the frame */
        add     sp, sp, #FRAME
        .cfi_adjust_cfa_offset -FRAME
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   comity_arch_call_here, .-comity_arch_call_here

/* void comity_arch_jump_call(void *stack_top /x0/, entry_fn entry /x1/, void *a /x2/, void *b /x3/) */
        .globl  comity_arch_jump_call
        .hidden comity_arch_jump_call
        .type   comity_arch_jump_call, %function
        .p2align 4
comity_arch_jump_call:
        .cfi_startproc
        .cfi_undefined x30
        hint    #34
        mov     sp, x0
        mov     x9, x1
        mov     x0, x2
        mov     x1, x3
        mov     x29, #0
        mov     x30, #0
        blr     x9
        brk     #1
        .cfi_endproc
        .size   comity_arch_jump_call, .-comity_arch_jump_call

/* void comity_arch_resume(void *to /x0/, after_fn after /x1/, void *arg /x2/) */
        .globl  comity_arch_resume
        .hidden comity_arch_resume
        .type   comity_arch_resume, %function
        .p2align 4
comity_arch_resume:
        .cfi_startproc
        .cfi_def_cfa sp, FRAME
        hint    #34
        mov     sp, x0
        FRAME_RESTORE
        cbz     x1, 1f
        mov     x0, x2
        mov     x16, x1
        br      x16
1:      ret
        .cfi_endproc
        .size   comity_arch_resume, .-comity_arch_resume

/* void comity_arch_leave(void *to /x0/) */
        .globl  comity_arch_leave
        .hidden comity_arch_leave
        .type   comity_arch_leave, %function
        .p2align 4
comity_arch_leave:
        .cfi_startproc
        .cfi_def_cfa sp, FRAME
        hint    #34
        mov     sp, x0
        REGISTERS_RESTORE
        ret
        .cfi_endproc
        .size   comity_arch_leave, .-comity_arch_leave

#endif

/* Also when the file is empty for this machine: no executable stack. */
#if defined(__arm__) || defined(__aarch64__)
        .section .note.GNU-stack, "", %progbits
#else
        .section .note.GNU-stack, "", @progbits
#endif
