// The older names for what signal_calls.cpp and dispositions.cpp do.
#include "personality/pthread/threads/object.hpp"
#include "personality/pthread/threads/signals.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

namespace comity::posix {

namespace {

std::atomic<signal_set> interrupts_calls{0}; // whose handlers `signal` sets up without SA_RESTART

bool can_be_caught(int signal) noexcept {
    return signal >= 1 && signal <= number_of_signals && signal != SIGKILL && signal != SIGSTOP;
}

sighandler_t refuse() noexcept {
    errno = EINVAL;
    return SIG_ERR;
}

sighandler_t set(int signal, sighandler_t handler, int flags) noexcept {
    if (handler == SIG_ERR) return refuse();
    struct sigaction to {
    }, before{};
    to.sa_handler = handler;
    to.sa_flags = flags;
    sigemptyset(&to.sa_mask);
    return sigaction(signal, &to, &before) == 0 ? before.sa_handler : SIG_ERR;
}

int change(int how, int signal) noexcept {
    sigset_t one;
    sigemptyset(&one);
    return sigaddset(&one, signal) == 0 ? sigprocmask(how, &one, nullptr) : -1;
}

// BSD's masks have 32 bits.
int change_first(int how, int mask) noexcept {
    sigset_t to, before;
    sigemptyset(&to);
    sigemptyset(&before);
    std::memcpy(&to, &mask, sizeof mask);
    (void)sigprocmask(how, &to, &before);
    std::memcpy(&mask, &before, sizeof mask);
    return mask;
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name)

COMITY_INTERPOSED sighandler_t signal(int which, sighandler_t handler) noexcept {
    if (!can_be_caught(which)) return refuse();
    return set(which, handler, interrupts_calls.load(std::memory_order_relaxed) & set_of(which) ? 0 : SA_RESTART);
}
COMITY_INTERPOSED sighandler_t bsd_signal(int which, sighandler_t handler) noexcept { return signal(which, handler); }
COMITY_INTERPOSED sighandler_t ssignal(int which, sighandler_t handler) noexcept { return signal(which, handler); }

COMITY_INTERPOSED sighandler_t __sysv_signal(int which, sighandler_t handler) noexcept {
    return set(which, handler, SA_RESETHAND | SA_NODEFER);
}
COMITY_INTERPOSED sighandler_t sysv_signal(int which, sighandler_t handler) noexcept {
    return __sysv_signal(which, handler);
}

COMITY_INTERPOSED int siginterrupt(int which, int interrupts) noexcept {
    struct sigaction a {};
    if (sigaction(which, nullptr, &a) != 0) return -1;
    if (interrupts) {
        interrupts_calls.fetch_or(set_of(which), std::memory_order_relaxed);
        a.sa_flags &= ~SA_RESTART;
    } else {
        interrupts_calls.fetch_and(~set_of(which), std::memory_order_relaxed);
        a.sa_flags |= SA_RESTART;
    }
    return sigaction(which, &a, nullptr);
}

COMITY_INTERPOSED int sighold(int which) noexcept { return change(SIG_BLOCK, which); }
COMITY_INTERPOSED int sigrelse(int which) noexcept { return change(SIG_UNBLOCK, which); }
COMITY_INTERPOSED int sigignore(int which) noexcept { return set(which, SIG_IGN, 0) == SIG_ERR ? -1 : 0; }

COMITY_INTERPOSED sighandler_t sigset(int which, sighandler_t handler) noexcept {
    if (!can_be_caught(which)) return refuse();
    sigset_t blocked;
    sigemptyset(&blocked);
    (void)sigprocmask(SIG_BLOCK, nullptr, &blocked);
    const bool held = sigismember(&blocked, which) == 1;
    struct sigaction before {};
    if (handler == SIG_HOLD) {
        if (change(SIG_BLOCK, which) != 0 || sigaction(which, nullptr, &before) != 0) return SIG_ERR;
        return held ? SIG_HOLD : before.sa_handler;
    }
    const sighandler_t was = set(which, handler, 0);
    if (was == SIG_ERR || change(SIG_UNBLOCK, which) != 0) return SIG_ERR;
    return held ? SIG_HOLD : was;
}

// The C library's would have the kernel wait, which knows nothing of masks. BSD's sigpause takes a mask; System V's a
// signal, and is what <signal.h> makes of sigpause.
static int pause_with_first(int mask) {
    sigset_t blocked;
    sigemptyset(&blocked);
    std::memcpy(&blocked, &mask, sizeof mask);
    return sigsuspend(&blocked);
}
static int pause_without(int which) {
    sigset_t blocked;
    sigemptyset(&blocked);
    (void)sigprocmask(SIG_BLOCK, nullptr, &blocked);
    return sigdelset(&blocked, which) == 0 ? sigsuspend(&blocked) : -1;
}
extern "C" __attribute__((visibility("default"))) int comity_sigpause(int mask) asm("sigpause");
int comity_sigpause(int mask) { return pause_with_first(mask); }
COMITY_INTERPOSED int __xpg_sigpause(int which) { return pause_without(which); }
COMITY_INTERPOSED int __sigpause(int which_or_mask, int is_signal) {
    return is_signal ? pause_without(which_or_mask) : pause_with_first(which_or_mask);
}

COMITY_INTERPOSED int sigblock(int mask) noexcept { return change_first(SIG_BLOCK, mask); }
COMITY_INTERPOSED int sigsetmask(int mask) noexcept { return change_first(SIG_SETMASK, mask); }

// NOLINTEND(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name)
