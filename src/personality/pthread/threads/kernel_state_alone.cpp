// The object that serves condition variables only: what it puts before the C library for the sake of kernel state.
// Threads that are the kernel's have their state to themselves but where they carry harts, and ranks have not.
#include "personality/pthread/threads/kernel_state.hpp"

#include "core/alone.hpp"
#include "personality/pthread/threads/object.hpp"

#include <cstdarg>

#include <sys/syscall.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<create_function> next_create{"pthread_create"};
COMITY_NEXT_SYMBOL next<int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long)> next_prctl{"prctl"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, int, const sched_param *)> next_setschedparam{"pthread_setschedparam"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, int)> next_setschedprio{"pthread_setschedprio"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, std::size_t, const cpu_set_t *)> next_setaffinity{"pthread_setaffinity_np"};
COMITY_NEXT_SYMBOL next<int (*)(int, const sigset_t *, sigset_t *)> next_sigmask{"pthread_sigmask"};
COMITY_NEXT_SYMBOL next<system_call> next_syscall{"syscall"};

// What pthread_set... say of the calling thread.
template <class By> int set_of_caller(By by) noexcept {
    const sys::errno_kept kept;
    return by() == 0 ? 0 : errno;
}

} // namespace

void note_kernel_state() noexcept {}

bool become_alone() noexcept { return core::become_alone(nullptr); }

// A rank on the first thread's kernel thread has its number.
bool is_beside_first() noexcept { return false; }

} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

// glibc has these under two versions, since its threads moved into libc.so.6.
#define COMITY_SINCE(now, name, before)                                                                                \
    COMITY_INTERPOSED __attribute__((alias("comity_" #name))) decltype(comity_##name) comity_##name##_before;          \
    asm(".symver comity_" #name ", " #name "@@" now);                                                                  \
    asm(".symver comity_" #name "_before, " #name "@" before)
#define COMITY_SINCE_2_34(name, before) COMITY_SINCE("GLIBC_2.34", name, before)
#if defined(__x86_64__)
#define COMITY_FIRST "GLIBC_2.2.5"
#define COMITY_LATER "GLIBC_2.3.4"
#else
#define COMITY_FIRST "GLIBC_2.17"
#define COMITY_LATER "GLIBC_2.17"
#endif

COMITY_INTERPOSED int comity_pthread_create(pthread_t *out, const pthread_attr_t *a, thread_function fn,
                                            void *arg) noexcept {
    return create_with_state(next_create.get(), comity::core::own_kernel_state(), out, a, fn, arg);
}
COMITY_SINCE_2_34(pthread_create, COMITY_FIRST);

COMITY_INTERPOSED int comity_pthread_sigmask(int how, const sigset_t *to, sigset_t *before) noexcept {
    return change_kernels_mask(next_sigmask.get(), how, to, before);
}
COMITY_SINCE("GLIBC_2.32", pthread_sigmask, COMITY_FIRST);

COMITY_INTERPOSED int sigprocmask(int how, const sigset_t *to, sigset_t *before) noexcept {
    const int error = comity_pthread_sigmask(how, to, before);
    if (error == 0) return 0;
    errno = error;
    return -1;
}

COMITY_INTERPOSED int pthread_setschedparam(pthread_t t, int policy, const sched_param *p) noexcept {
    if (t != pthread_self()) return next_setschedparam.get()(t, policy, p);
    return set_of_caller([=] { return sched_setscheduler(0, policy, p); });
}

COMITY_INTERPOSED int comity_pthread_setschedprio(pthread_t t, int priority) noexcept {
    sched_param p{};
    p.sched_priority = priority;
    return t == pthread_self() ? set_of_caller([&] { return sched_setparam(0, &p); })
                               : next_setschedprio.get()(t, priority);
}
COMITY_SINCE_2_34(pthread_setschedprio, COMITY_LATER);

COMITY_INTERPOSED int comity_pthread_setaffinity_np(pthread_t t, std::size_t size, const cpu_set_t *cpus) noexcept {
    if (t != pthread_self()) return next_setaffinity.get()(t, size, cpus);
    return set_of_caller([=] { return sched_setaffinity(0, size, cpus); });
}
COMITY_SINCE_2_34(pthread_setaffinity_np, COMITY_LATER);

COMITY_INTERPOSED int prctl(int what, ...) {
    va_list rest;
    va_start(rest, what);
    unsigned long given[4];
    for (unsigned long &word : given) word = va_arg(rest, unsigned long);
    va_end(rest);
    return change_by_call(SYS_prctl, next_prctl.get(), what, given[0], given[1], given[2], given[3]);
}

// The C library's `syscall`, jumped to with all arguments where they are.
extern "C" {
[[gnu::visibility("hidden")]] long comity_first_call(long number, long a, long b, long c, long d, long e, long f);
system_call comity_other_calls = comity_first_call;
}

long comity_first_call(long number, long a, long b, long c, long d, long e, long f) {
    __atomic_store_n(&comity_other_calls, next_syscall.get(), __ATOMIC_RELAXED);
    return next_syscall.get()(number, a, b, c, d, e, f);
}

COMITY_INTERPOSED long comity_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
#if defined(__x86_64__)
static_assert(comity_kinds_of_calls::numbers == 512 && comity_may_change_state == 3);
__attribute__((naked)) long comity_syscall(long, long, long, long, long, long, long) {
    asm("cmpq $511, %rdi\n\t"
        "ja 1f\n\t"
        "leaq comity_call_kinds(%rip), %rax\n\t"
        "cmpb $3, (%rax,%rdi)\n\t"
        "je comity_state_call\n"
        "1: jmpq *comity_other_calls(%rip)");
}
#else
long comity_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const bool is_known = number >= 0 && number < comity_kinds_of_calls::numbers;
    if (is_known && comity_call_kinds.of[number] == comity_may_change_state)
        return comity_state_call(number, a, b, c, d, e);
    return __atomic_load_n(&comity_other_calls, __ATOMIC_RELAXED)(number, a, b, c, d, e, f);
}
#endif

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
