// Blocking signals for a while. Any thread; never switches; errno is kept.
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::sys {

// What kernel threads whose TLS is lent block: as below. The kernel's mask, one bit a signal.
extern const std::uint64_t mask_of_lent_threads;

// The calling kernel thread's mask, or one signal of it, for good. exchange_mask returns what it was.
COMITY_SHARED std::uint64_t exchange_mask(std::uint64_t to) noexcept;
void block_as_lent_threads() noexcept;
COMITY_SHARED void unblock_signal(int signal) noexcept;

// While one lives, the calling kernel thread takes no signals except those of faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP, SIGSYS: blocking these would turn a report into a silent death, and profilers need SIGTRAP) and the C
// library's internal ones. Must end on the kernel thread on which it began: do not switch in between.
class COMITY_SHARED signals_blocked {
public:
    signals_blocked() noexcept;
    ~signals_blocked();
    signals_blocked(const signals_blocked &) = delete;
    signals_blocked &operator=(const signals_blocked &) = delete;

private:
    std::uint64_t before_; // the kernel's mask, one bit a signal
};

} // namespace comity::sys
