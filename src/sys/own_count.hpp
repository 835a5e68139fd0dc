// Numbers that one thread at a time writes and anybody reads.
#pragma once

#include "sys/sanitized.hpp"

#include <atomic>
#include <cstdint>

namespace comity::sys {

// Adds one, without the lock that fetch_add takes: for the writer. What he wrote before is seen with it
// (release[unit-ended]). On x86-64 one instruction, which compilers make of an ordinary number only;
// ThreadSanitizer does not see it.
[[gnu::always_inline]] inline void add_one(std::atomic<std::uint64_t> &count) noexcept {
#if defined(__x86_64__) && !defined(COMITY_TSAN)
    asm volatile("addq $1, %0" : "+m"(count)::"memory", "cc");
#else
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release); // release[unit-ended]
#endif
}

} // namespace comity::sys
