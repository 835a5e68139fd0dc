// `syscall`, by which programs call the kernel themselves.
#pragma once

#include <ctime>

namespace comity::posix {
using system_call = long (*)(long number, long a, long b, long c, long d, long e, long f);
} // namespace comity::posix

extern "C" {
// The C library's own.
[[gnu::visibility("hidden")]] extern comity::posix::system_call comity_other_calls;

// FUTEX_WAIT and FUTEX_WAIT_BITSET, with the arguments of `syscall`; `bits` only where there are any. No cancellation
// point.
[[gnu::visibility("hidden")]] long comity_wait_at_word(long number, long word, long command, long expected,
                                                       const timespec *timeout, long bits);
}
