#include "sys/signals.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/c_library.hpp"
#include "sys/errno_kept.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/refusal.hpp"

namespace comity::sys {
namespace {

constexpr std::uint64_t bit(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

constexpr int c_library_cancel = 32, c_library_setxid = 33; // glibc's SIGCANCEL and SIGSETXID

constexpr std::uint64_t never_blocked = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) |
                                        bit(SIGSYS) | bit(c_library_cancel) | bit(c_library_setxid);

constinit own_function<int (*)(int, const struct sigaction *, struct sigaction *)> own_sigaction{"sigaction"};
[[gnu::constructor]] void find_early() noexcept { own_sigaction.find(); }

// The raw call: the C library's wrapper may be intercepted, and the kernel's mask is 64 bits.
void set_mask(int how, const std::uint64_t *mask, std::uint64_t *before) noexcept {
    const errno_kept kept;
    ::syscall(SYS_rt_sigprocmask, how, mask, before, sizeof *mask);
}

} // namespace

const std::uint64_t mask_of_lent_threads = ~never_blocked;

std::uint64_t exchange_mask(std::uint64_t to) noexcept {
    std::uint64_t before = 0;
    set_mask(SIG_SETMASK, &to, &before);
    return before;
}

std::uint64_t blocked_signals() noexcept {
    std::uint64_t now = 0;
    set_mask(SIG_BLOCK, nullptr, &now);
    return now;
}

void block_as_lent_threads() noexcept { set_mask(SIG_SETMASK, &mask_of_lent_threads, nullptr); }

std::uint64_t block_signals(std::uint64_t more) noexcept {
    std::uint64_t before = 0;
    set_mask(SIG_BLOCK, &more, &before);
    return before;
}
void unblock_signal(int signal) noexcept {
    const std::uint64_t one = bit(signal);
    set_mask(SIG_UNBLOCK, &one, nullptr);
}

void send_again(siginfo_t info) noexcept {
    const errno_kept kept;
    const bool is_sent = ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), kernel_thread_id(), info.si_signo, &info) == 0;
    if (!is_sent && is_refusal(errno)) signal_kernel_thread(kernel_thread_id(), info.si_signo);
}

bool set_signal_action(int signal, const struct sigaction *to, struct sigaction *before) noexcept {
    const errno_kept kept;
    const auto f = own_sigaction.find();
    return (f ? f : ::sigaction)(signal, to, before) == 0;
}

bool set_signal_stack(const stack_t *to, stack_t *before) noexcept {
    const errno_kept kept;
    return ::syscall(SYS_sigaltstack, to, before) == 0;
}

bool replace_credentials_handler(kernel_handler to, kernel_handler &before) noexcept {
    struct kernel_action { // as the kernel has it on both architectures
        kernel_handler handler;
        unsigned long flags;
        void (*restorer)();
        std::uint64_t mask;
    } action{};
    const errno_kept kept;
    // The C library's own sigaction refuses this one.
    if (::syscall(SYS_rt_sigaction, c_library_setxid, nullptr, &action, sizeof action.mask) != 0) return false;
    if (action.handler == to) return true;
    if (!action.handler || !(action.flags & SA_SIGINFO)) return false;
    before = action.handler;
    action.handler = to;
    action.mask = ~std::uint64_t{0};
    return ::syscall(SYS_rt_sigaction, c_library_setxid, &action, nullptr, sizeof action.mask) == 0;
}

signals_blocked::signals_blocked() noexcept : before_(0) { set_mask(SIG_BLOCK, &mask_of_lent_threads, &before_); }

signals_blocked::~signals_blocked() { set_mask(SIG_SETMASK, &before_, nullptr); }

} // namespace comity::sys
