// Blocking signals for a while, and setting what they do. Any thread; never switches; errno is kept.
#pragma once

#include "sys/shared.hpp"

#include <csignal>
#include <cstdint>

namespace comity::sys {

// What kernel threads whose TLS is lent block: as below. The kernel's mask, one bit a signal.
extern const std::uint64_t mask_of_lent_threads;

// The calling kernel thread's mask, or one signal of it, for good. exchange_mask returns what it was.
COMITY_SHARED std::uint64_t exchange_mask(std::uint64_t to) noexcept;
COMITY_SHARED std::uint64_t blocked_signals() noexcept; // the mask
void block_as_lent_threads() noexcept;
COMITY_SHARED void unblock_signal(int signal) noexcept;
// Blocks these, too. Returns what the mask was.
COMITY_SHARED std::uint64_t block_signals(std::uint64_t more) noexcept;
// Sends the calling kernel thread the signal that it was sent. Any thread and signal handlers.
void send_again(siginfo_t info) noexcept;
// sigaction, by the C library's own function and not by one that a preloaded object of ours may have put before it.
// False: the kernel refused.
bool set_signal_action(int signal, const struct sigaction *to, struct sigaction *before) noexcept;
// sigaltstack of the kernel thread: the C library's may be answered for the thread that the program knows. False: the
// kernel refused.
bool set_signal_stack(const stack_t *to, stack_t *before) noexcept;

// The C library's setuid and its like have every kernel thread of the process change its credentials, in a handler.
// Puts another handler in its place, unless it is there, which calls the C library's: written to `before`. Nothing
// interrupts it.
// False: there is none, as long as the C library has not created a thread.
using kernel_handler = void (*)(int, siginfo_t *, void *);
bool replace_credentials_handler(kernel_handler to, kernel_handler &before) noexcept;

// While one lives, the calling kernel thread takes no signals except those of faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP, SIGSYS: blocking these would turn a report into a silent death, and profilers need SIGTRAP) and the C
// library's internal ones. Must end on the kernel thread on which it began: do not switch in between.
class COMITY_SHARED signals_blocked {
public:
    signals_blocked() noexcept;
    ~signals_blocked();
    signals_blocked(const signals_blocked &) = delete;
    signals_blocked &operator=(const signals_blocked &) = delete;
    std::uint64_t before() const noexcept { return before_; }

private:
    std::uint64_t before_; // the kernel's mask, a bit for each signal
};

} // namespace comity::sys
