#include "sys/interruption.hpp"

#include <csignal>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sys/errno_kept.hpp"
#include "sys/signals.hpp"

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

void interrupt_kernel_thread(int id) noexcept { ::syscall(SYS_tgkill, ::getpid(), id, SIGURG); }

void block_signals_after(void *frame) noexcept {
    // The kernel's mask is 64 bits, the first of the C library's.
    *reinterpret_cast<std::uint64_t *>(&static_cast<ucontext_t *>(frame)->uc_sigmask) = mask_of_lent_threads;
}

} // namespace comity::sys
