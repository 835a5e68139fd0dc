// The numbers by which programs know kernel threads: gettid, and who is meant by them. A thread has the same one for
// all its life, that of the kernel thread which lends it its storage, wherever it runs. When it has ended, that storage
// rests (thread/cache.cpp) if the program has asked for the number.
#include "personality/pthread/cpu_clocks.hpp"
#include "personality/pthread/threads/kernel_state.hpp"
#include "personality/pthread/threads/system_call.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"

#include <csignal>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<pid_t (*)()> next_gettid{"gettid"};
COMITY_NEXT_SYMBOL next<int (*)(pid_t, pid_t, int)> next_tgkill{"tgkill"};
COMITY_NEXT_SYMBOL next<system_call> next_syscall{"syscall"};
COMITY_NEXT_SYMBOL next<int (*)(clockid_t, sigevent *, timer_t *)> next_timer_create{"timer_create"};

// Null: it is no thread of ours.
thread *thread_with(pid_t id) noexcept {
    struct search {
        pid_t id;
        thread *found;
    } s{id, nullptr};
    const auto look = [](thread &t, void *argument) {
        search &of = *static_cast<search *>(argument);
        const bool is_it = t.id.load(std::memory_order_relaxed) == of.id;
        if (is_it) of.found = &t;
        return is_it;
    };
    if (id > 0) (void)visit_threads(look, &s);
    return s.found;
}

// 0: another process' thread, or one that has no such handle.
pthread_t handle_with(pid_t process, pid_t id) noexcept {
    if (!the_scheduler() || process != ::getpid() || in_vforked_child()) return 0;
    if (thread *t = thread_with(id)) return handle_of(t);
    return id == process ? first_thread_handle() : 0;
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED pid_t gettid() noexcept {
    thread *t = current_thread;
    const pid_t own = t ? t->id.load(std::memory_order_relaxed) : 0;
    if (own == 0 || in_vforked_child()) return next_gettid.get()();
    t->id_was_told = true;
    return own;
}

static int kill_thread(pthread_t t, int signal) {
    const int error = pthread_kill(t, signal);
    if (error == 0) return 0;
    errno = error;
    return -1;
}

COMITY_INTERPOSED int tgkill(pid_t process, pid_t id, int signal) {
    const pthread_t t = handle_with(process, id);
    return t ? kill_thread(t, signal) : next_tgkill.get()(process, id, signal);
}

// In whichever process it is: debuggers call it.
static long tkill(pid_t id, int signal) {
    const pthread_t t = handle_with(::getpid(), id);
    return t ? kill_thread(t, signal) : next_syscall.get()(SYS_tkill, id, signal, 0, 0, 0, 0);
}

// The C library's `syscall`, jumped to with all arguments where they are: a thread that sleeps there is in the
// program's code, as it is without this one. But not for waits at words of the program's own (blocking.cpp).
extern "C" {
[[gnu::visibility("hidden")]] long comity_call_by_id(long number, long a, long b, long c);
[[gnu::visibility("hidden")]] long comity_first_call(long number, long a, long b, long c, long d, long e, long f);
system_call comity_other_calls = comity_first_call;
}

long comity_call_by_id(long number, long a, long b, long c) {
    switch (number) {
    case SYS_tgkill:
        return tgkill(static_cast<pid_t>(a), static_cast<pid_t>(b), static_cast<int>(c));
    case SYS_tkill:
        return tkill(static_cast<pid_t>(a), static_cast<int>(b));
    default:
        return gettid();
    }
}

long comity_first_call(long number, long a, long b, long c, long d, long e, long f) {
    __atomic_store_n(&comity_other_calls, next_syscall.get(), __ATOMIC_RELAXED);
    return next_syscall.get()(number, a, b, c, d, e, f);
}

COMITY_INTERPOSED long comity_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
#if defined(__x86_64__)
// By hand: the last argument is on the stack, and if there are fewer it is a variable of the caller's, which others may
// change meanwhile. Compilers read it and write it back.
static_assert(FUTEX_WAIT == 0 && FUTEX_WAIT_BITSET == 9 &&
              FUTEX_CMD_MASK == ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME));
static_assert(comity_kinds_of_calls::numbers == 512 && comity_is_by_id == 1 && comity_may_wait_at_word == 2);
__attribute__((naked)) long comity_syscall(long, long, long, long, long, long, long) {
    asm("cmpq $511, %rdi\n\t"
        "ja 1f\n\t"
        "leaq comity_call_kinds(%rip), %rax\n\t"
        "movzbl (%rax,%rdi), %eax\n\t"
        "testl %eax, %eax\n\t"
        "jne 2f\n"
        "1: jmpq *comity_other_calls(%rip)\n"
        "2: cmpl $2, %eax\n\t"
        "jb comity_call_by_id\n\t"
        "ja comity_state_call\n\t"
        "movl %edx, %eax\n\t"
        "andl $0x7f, %eax\n\t"
        "je 3f\n\t" // FUTEX_WAIT
        "cmpl $9, %eax\n\t"
        "jne 1b\n"
        "3: movq 8(%rsp), %r9\n\t" // in place of the sixth, which a wait has not
        "jmp comity_wait_at_word");
}
#else
long comity_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const unsigned char kind =
        number >= 0 && number < comity_kinds_of_calls::numbers ? comity_call_kinds.of[number] : 0;
    if (kind == comity_is_by_id) return comity_call_by_id(number, a, b, c);
    if (kind == comity_may_change_state) return comity_state_call(number, a, b, c, d, e);
    const long command = b & FUTEX_CMD_MASK;
    if (kind == comity_may_wait_at_word && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET))
        return comity_wait_at_word(number, a, b, c, reinterpret_cast<const timespec *>(d), f);
    return __atomic_load_n(&comity_other_calls, __ATOMIC_RELAXED)(number, a, b, c, d, e, f);
}
#endif

// A kernel thread that lends its storage takes no signals: one of a timer for such a thread goes to the process.
COMITY_INTERPOSED int timer_create(clockid_t clock, sigevent *event, timer_t *timer) noexcept {
    // What the kernel measures is the time of the kernel thread that carries it at the moment, or of none.
    if (is_clock_of_own_thread(clock)) return errno = ENOTSUP, -1;
    if (!event || event->sigev_notify != SIGEV_THREAD_ID || !thread_with(event->_sigev_un._tid))
        return next_timer_create.get()(clock, event, timer);
    sigevent to_process = *event;
    to_process.sigev_notify = SIGEV_SIGNAL;
    return next_timer_create.get()(clock, &to_process, timer);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
