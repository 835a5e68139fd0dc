// Contexts: computations that can be stopped and resumed on any carrier, and the switch between them.
//
// A *full* context has a TLS block of its own (tls/). A *bare* one runs on the TLS of whichever kernel thread carries
// it. The context of an adopted thread (its *native* context) owns the thread's TLS and is pinned: only that thread
// runs it.
#pragma once

#include "core/arch/switch.hpp"
#include "core/sanitizer.hpp"
#include "core/tls/base.hpp"
#include "core/unit.hpp"
#include "sys/linked_list.hpp"
#include "sys/memory.hpp"
#include "sys/shared.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::core {

struct carrier;
struct sched;
struct context;
struct tls_block;
struct promotion;

enum class context_state : std::uint8_t { fresh, running, paused, exited };

// The C++ runtime's two words of per-thread exception state (__cxa_eh_globals of the Itanium ABI).
struct exception_state {
    void *caught = nullptr;
    unsigned int uncaught = 0;
};

// The unit that stands for a context where units are kept, and in the bytes behind it:
struct context_unit : unit {
    // It waits for something from outside: when it is ready again it has its turn, whatever order its scheduler keeps.
    // Its own, before it waits and after that.
    bool comes_in_turn = false;
    // A handler of Comity's is about to move it to another kernel thread, from within a call that it has interrupted:
    // what is to end that call cannot while it stands on top of this. Its own.
    bool is_moved = false;
    // Is a fork-join pair open on its stack? Whoever runs on the context.
    enum class open_forks : std::uint8_t { none, some, forbidden /* transition contexts */ };
    open_forks forks = open_forks::none;
    bool is_in_fork() const noexcept { return forks == open_forks::some; }
};
} // namespace comity::core

// The C API's opaque type is this structure.
struct alignas(64) comity_context {
    // The first cache line, and `caught`, are all that a switch touches.
    void *sp = nullptr;                    // where it is saved; written by the hart that pauses it. First: gdb reads it
    std::uintptr_t tls_base = 0;           // 0: bare
    comity::core::carrier *on = nullptr;   // who runs it now, or ran it last; written by that carrier
    comity::core::sched *owner = nullptr;  // its scheduler; null: an adopted thread outside every scheduler
    comity::core::carrier *home = nullptr; // native contexts: the only carrier that may run it
    comity::core::context *next = nullptr; // link in a list of its scheduler or of a synchronisation object
    void *runs = nullptr;                  // the unit (thread layer: a thread) whose function it executes, or null
    bool shares_tls = false;               // bare, native or promoted: others run on the same TLS block
    comity::core::context_state state = comity::core::context_state::fresh;
    bool broken = false;   // since it was started it was stopped and resumed, so it cannot end by a return
    bool returned = false; // core::call: what it called has returned
    std::uint32_t id = 0;  // for people: `comity bt ID`; 0: free memory (allocate_context)

    // The second one: what a start touches, too.
    alignas(64) void *stack_top = nullptr; // where it starts
    void (*fn)(void *) = nullptr;
    void *arg = nullptr;
    comity::core::exception_state caught; // saved while paused, when the TLS is shared
    comity::core::context_unit self;      // stands for it where units are kept

    std::byte *floor = nullptr;             // while the stack pointer is above, it may call others on its own stack
    comity::core::tls_block *tls = nullptr; // full contexts
    comity::sys::stack_memory stack;        // bare contexts: the stack; full ones have the donor's
    void *local = nullptr;                  // comity_context_local
    void *hot = nullptr;                    // what a model keeps with the context from use to use (spmd: the hot team)
    void (*at_end)(comity::core::context *) =
        nullptr; // frees it; when an adopted thread ends or the context is destroyed
    [[no_unique_address]] comity::core::sanitizer_fiber fiber;
};

namespace comity::core {

struct context : comity_context {};
using context_list = sys::linked_list<context>;
static_assert(sizeof(context) == 192 || sizeof(sanitizer_fiber) > 1);

// gcc and clang know the offset; they warn since `self` is of a derived type, whose own field fills the base's padding.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
inline context *context_of(unit *self) noexcept {
    return reinterpret_cast<context *>(reinterpret_cast<std::byte *>(self) - offsetof(comity_context, self));
}
#pragma GCC diagnostic pop

// The context that runs on this TLS block; null on a thread that Comity never saw. Read through current_context().
extern "C" {
extern COMITY_SHARED __thread context *comity_tls_current __attribute__((tls_model("initial-exec")));
}

// The running context. A fresh load each time, by assembly the compiler can neither cache nor move across a switch:
// compilers keep the address of a thread-local variable across calls, which is wrong after one that changed the kernel
// thread.
inline context *current_context() noexcept {
    context *c;
#if defined(__x86_64__)
    asm volatile("movq comity_tls_current@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=&r"(c)::"memory");
#elif defined(__aarch64__)
    std::uintptr_t at;
    asm volatile("mrs %1, tpidr_el0\n\t"
                 "adrp %0, :gottprel:comity_tls_current\n\t"
                 "ldr %0, [%0, #:gottprel_lo12:comity_tls_current]\n\t"
                 "ldr %0, [%1, %0]"
                 : "=&r"(c), "=&r"(at)::"memory");
#endif
    return c;
}

// What carrier::work of the calling kernel thread is, in its own block; null in a block that is a full context's own.
extern "C" {
extern COMITY_SHARED __thread void *comity_tls_work __attribute__((tls_model("initial-exec")));
}
// The same as carrier::work where that is not null, or null: then the long way may lead to it. A fresh load, too.
inline void *work_at_hand() noexcept {
    void *work;
#if defined(__x86_64__)
    asm volatile("movq comity_tls_work@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=&r"(work)::"memory");
#elif defined(__aarch64__)
    std::uintptr_t at;
    asm volatile("mrs %1, tpidr_el0\n\t"
                 "adrp %0, :gottprel:comity_tls_work\n\t"
                 "ldr %0, [%0, #:gottprel_lo12:comity_tls_work]\n\t"
                 "ldr %0, [%1, %0]"
                 : "=&r"(work), "=&r"(at)::"memory");
#endif
    return work;
}

// Where the current TLS block keeps comity_tls_current and comity_tls_work.
context **current_slot() noexcept;
void **work_slot() noexcept;

// Makes and frees contexts. create returns null with an error number in `error`: ENOMEM, EAGAIN, EINVAL. stack_size 0
// is the default; bare contexts may have small stacks (sys/stack_pool.hpp), full ones have 16 KiB at least.
COMITY_SHARED context *create_context(std::size_t stack_size, bool full, int &error) noexcept;
COMITY_SHARED void destroy_context(context *c) noexcept;
// The same for several bare contexts, for the price of little more than one: at most n, returns how many there are in
// out[0..], fewer only when the memory is exhausted. For n <= 8.
unsigned create_bare_contexts(std::size_t stack_size, context **out, unsigned n) noexcept;
void destroy_bare_contexts(context **contexts, unsigned n) noexcept;

// The memory of a context, which gdb's list knows from now on; null: there is none. Memory that was a context's once
// never becomes anything else. By themselves for contexts without a stack of their own (native ones).
COMITY_SHARED context *allocate_context() noexcept;
COMITY_SHARED void free_context(context *c) noexcept;

// For the handler of SIGSEGV: the context in whose guard the address lies; null: none.
const context *overflowed_at(const void *address) noexcept;

// A small stack has no guard: ends the program if the context's has overflowed. Where the stack is given back, and in
// debug builds at each switch.
void check_canary(const context *c) noexcept;
#ifdef NDEBUG
inline constexpr bool checks_canary_at_switch = false;
#else
inline constexpr bool checks_canary_at_switch = true;
#endif

} // namespace comity::core
