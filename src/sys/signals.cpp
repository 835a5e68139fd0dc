#include "sys/signals.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/errno_kept.hpp"

namespace comity::sys {
namespace {

constexpr std::uint64_t bit(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

constexpr int c_library_cancel = 32, c_library_setxid = 33; // glibc's SIGCANCEL and SIGSETXID

constexpr std::uint64_t never_blocked = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) |
                                        bit(SIGSYS) | bit(c_library_cancel) | bit(c_library_setxid);

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

void block_as_lent_threads() noexcept { set_mask(SIG_SETMASK, &mask_of_lent_threads, nullptr); }

void unblock_signal(int signal) noexcept {
    const std::uint64_t one = bit(signal);
    set_mask(SIG_UNBLOCK, &one, nullptr);
}

signals_blocked::signals_blocked() noexcept : before_(0) { set_mask(SIG_BLOCK, &mask_of_lent_threads, &before_); }

signals_blocked::~signals_blocked() { set_mask(SIG_SETMASK, &before_, nullptr); }

} // namespace comity::sys
