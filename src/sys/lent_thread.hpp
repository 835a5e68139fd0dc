// Sleeping for a kernel thread whose thread-local storage is lent to others. Not even errno is touched, no signal
// handler's business is done here, and no sanitizer sees it: their state of the thread is lent as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>

// For functions that no sanitizer may instrument, not even their entry and exit.
#if defined(__clang__)
#define COMITY_NEVER_INSTRUMENTED                                                                                      \
    __attribute__((noinline, disable_sanitizer_instrumentation, no_sanitize("address", "thread", "undefined")))
#else
#define COMITY_NEVER_INSTRUMENTED __attribute__((noinline, no_sanitize("address", "thread", "undefined")))
#endif

namespace comity::sys {

namespace detail {
[[gnu::always_inline]] inline long raw_futex(const std::uint32_t *word, int operation, std::uint32_t value) noexcept {
#if defined(__x86_64__)
    long result = SYS_futex;
    register long timeout asm("r10") = 0;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(word), "S"(static_cast<long>(operation)), "d"(static_cast<long>(value)), "r"(timeout)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long result asm("x0") = reinterpret_cast<long>(word);
    register long second asm("x1") = operation;
    register long third asm("x2") = value;
    register long timeout asm("x3") = 0;
    register long number asm("x8") = SYS_futex;
    asm volatile("svc #0" : "+r"(result) : "r"(second), "r"(third), "r"(timeout), "r"(number) : "memory");
    return result;
#endif
}
constexpr int wait_private = 128, wake_private = 129; // FUTEX_WAIT and FUTEX_WAKE, FUTEX_PRIVATE_FLAG
} // namespace detail

// Sleeps while *word == value; returns for any reason.
[[gnu::always_inline]] inline void lent_wait(const std::uint32_t *word, std::uint32_t value) noexcept {
    detail::raw_futex(word, detail::wait_private, value);
}
// Wakes all who sleep on it.
[[gnu::always_inline]] inline void lent_wake_all(const std::uint32_t *word) noexcept {
    detail::raw_futex(word, detail::wake_private, INT32_MAX);
}

// The list of robust mutexes that the kernel knows for the calling kernel thread, so the C library's of its own thread,
// whosever storage it runs on; null: none, or the kernel does not tell.
[[gnu::always_inline]] inline void *lent_robust_list() noexcept {
    void *head = nullptr;
    std::size_t size = 0;
#if defined(__x86_64__)
    long result = SYS_get_robust_list;
    asm volatile("syscall" : "+a"(result) : "D"(0L), "S"(&head), "d"(&size) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long result asm("x0") = 0;
    register void **second asm("x1") = &head;
    register std::size_t *third asm("x2") = &size;
    register long number asm("x8") = SYS_get_robust_list;
    asm volatile("svc #0" : "+r"(result) : "r"(second), "r"(third), "r"(number) : "memory");
#endif
    return result == 0 ? head : nullptr;
}

// Stores `value` and wakes all who sleep on the word, then ends the calling kernel thread, without its C library. From
// the store on neither its stack nor the word's memory is used.
[[noreturn, gnu::always_inline]] inline void lent_leave(std::uint32_t *word, std::uint32_t value) noexcept {
#if defined(__x86_64__)
    register long count asm("rdx") = INT32_MAX;
    asm volatile("movl %[value], (%[word])\n\t"
                 "movl %[futex], %%eax\n\t"
                 "syscall\n\t"
                 "movl %[exit], %%eax\n\t"
                 "xorl %%edi, %%edi\n\t"
                 "syscall"
                 :
                 : [word] "D"(word), [value] "r"(value), "S"(long{detail::wake_private}),
                   "r"(count), [futex] "i"(SYS_futex), [exit] "i"(SYS_exit)
                 : "rax", "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long first asm("x0") = reinterpret_cast<long>(word);
    register long second asm("x1") = detail::wake_private;
    register long third asm("x2") = INT32_MAX;
    asm volatile("stlr %w[value], [x0]\n\t"
                 "mov x8, %[futex]\n\t"
                 "svc #0\n\t"
                 "mov x0, #0\n\t"
                 "mov x8, %[exit]\n\t"
                 "svc #0"
                 : "+r"(first)
                 : [value] "r"(value), "r"(second), "r"(third), [futex] "i"(SYS_futex), [exit] "i"(SYS_exit)
                 : "x8", "memory");
#endif
    __builtin_unreachable();
}

} // namespace comity::sys
