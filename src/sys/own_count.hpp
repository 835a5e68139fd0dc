// Numbers that one thread at a time writes and anybody reads.
#pragma once

#include "sys/sanitized.hpp"

#include <atomic>
#include <cstdint>

namespace comity::sys {

// Changed without the lock that fetch_add takes. For others a hint: nothing else is seen with it.
template <class Number> class own_count {
public:
    [[gnu::always_inline]] void operator++() noexcept { add(1); }
    [[gnu::always_inline]] void operator--() noexcept { sub(1); }
    [[gnu::always_inline]] void add(Number n) noexcept { set(get() + n); }
    [[gnu::always_inline]] void sub(Number n) noexcept { set(get() - n); }
    [[gnu::always_inline]] void set(Number n) noexcept { value_.store(n, std::memory_order_relaxed); }
    [[gnu::always_inline]] Number get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<Number> value_{0};
};

// Adds one: for the writer. What he wrote before is seen with it (release[unit-ended]). On x86-64 one instruction,
// which compilers make of an ordinary number only; ThreadSanitizer does not see it.
[[gnu::always_inline]] inline void add_one(std::atomic<std::uint64_t> &count) noexcept {
#if defined(__x86_64__) && !defined(COMITY_TSAN)
    asm volatile("addq $1, %0" : "+m"(count)::"memory", "cc");
#else
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release); // release[unit-ended]
#endif
}

} // namespace comity::sys
