#include "sys/interruption.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sys/errno_kept.hpp"
#include "sys/message.hpp"
#include "sys/signals.hpp"
#include "sys/text_file.hpp"

namespace comity::sys {
namespace {

bool (*handle)(const interruption &) noexcept = nullptr;
struct sigaction programs_own {};

interruption what_stood(void *frame) noexcept {
    const auto &m = static_cast<ucontext_t *>(frame)->uc_mcontext;
#if defined(__x86_64__)
    return {static_cast<std::uintptr_t>(m.gregs[REG_RIP]), static_cast<std::uintptr_t>(m.gregs[REG_RSP]), frame};
#elif defined(__aarch64__)
    return {m.pc, m.sp, frame};
#endif
}

// errno is the interrupted code's also when the handler comes back on another kernel thread: it runs on the same TLS.
void on_signal(int signal, siginfo_t *info, void *frame) {
    const errno_kept kept;
    if (!handle(what_stood(frame))) {
        if (programs_own.sa_flags & SA_SIGINFO)
            programs_own.sa_sigaction(signal, info, frame);
        else if (programs_own.sa_handler != SIG_DFL && programs_own.sa_handler != SIG_IGN)
            programs_own.sa_handler(signal);
    }
}

// A time limit counts from the beginning again, so the thread sleeps for longer, as any thread may.
bool may_begin_anew(long number) noexcept {
    switch (number) {
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
#if defined(__x86_64__)
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
        return true;
    default:
        return false;
    }
}

} // namespace

bool take_interruptions(bool (*handler)(const interruption &) noexcept) noexcept {
    handle = handler;
    struct sigaction ours {};
    ours.sa_sigaction = on_signal;
    // Not on the alternate stack, for the handler may leave its stack; not blocked in it, for it may not come back
    // here.
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    ::sigemptyset(&ours.sa_mask);
    return ::sigaction(SIGURG, &ours, &programs_own) == 0;
}

void be_interruptible() noexcept {
    sigset_t ours;
    ::sigemptyset(&ours);
    ::sigaddset(&ours, SIGURG);
    ::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
}

void interrupt_kernel_thread(int id) noexcept { ::syscall(SYS_tgkill, ::getpid(), id, SIGURG); }

// "NUMBER ARGUMENT... SP PC", of which only the first number is decimal, or "running".
sleeping_call call_of_sleeper(int id) noexcept {
    char path[64];
    format_text(path, sizeof path, "/proc/self/task/%d/syscall", id);
    line_reader file(path);
    const char *at = file.next();
    sleeping_call call;
    if (!at || *at < '0' || *at > '9') return call;
    constexpr unsigned words = 8, sp = 6, pc = 7;
    std::uint64_t word[words] = {};
    char *end = nullptr;
    const long number = std::strtol(at, &end, 10);
    for (unsigned i = 0; i < words; ++i) word[i] = std::strtoull(end, &end, 16);
    if (may_begin_anew(number) && word[pc] != 0) call = {number, word[0], word[pc], word[sp]};
    return call;
}

bool begin_anew(const interruption &i, const sleeping_call &call) noexcept {
    if (call.number < 0 || i.pc != call.pc || i.sp != call.sp) return false;
    auto &m = static_cast<ucontext_t *>(i.frame)->uc_mcontext;
#if defined(__x86_64__)
    constexpr unsigned char instruction[] = {0x0f, 0x05}; // syscall
    const auto *before = reinterpret_cast<const unsigned char *>(i.pc) - sizeof instruction;
    if (m.gregs[REG_RAX] != -EINTR || std::memcmp(before, instruction, sizeof instruction) != 0) return true;
    m.gregs[REG_RAX] = call.number; // the other registers are as they were
    m.gregs[REG_RIP] -= sizeof instruction;
#elif defined(__aarch64__)
    if (static_cast<std::int64_t>(m.regs[0]) != -EINTR) return true;
    m.regs[0] = call.first_argument; // the number is still in its register
    m.pc -= 4;
#endif
    return true;
}

void block_signals_after(void *frame) noexcept {
    // The kernel's mask is 64 bits, the first of the C library's.
    *reinterpret_cast<std::uint64_t *>(&static_cast<ucontext_t *>(frame)->uc_sigmask) = mask_of_lent_threads;
}

} // namespace comity::sys
