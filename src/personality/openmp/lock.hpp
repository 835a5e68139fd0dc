// Locks of one 32-bit word, as the ABI has them: omp_lock_t, the words of critical constructs. Who waits stands in
// a list that is lent to the word's address (sync/address.hpp); waiting blocks the context, never the hart. Protocol
// and proof: README.md, "Locks".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::openmp {

// Bit 0: taken, else free; bit 1: somebody may wait; above: whatever the holder put there.
class word_lock {
public:
    // Returns when the caller has the lock. May switch.
    void lock(std::uint32_t holder = 0) noexcept {
        std::uint32_t free = 0;
        if (!word_.compare_exchange_strong(free, holder << 2 | taken, std::memory_order_acquire, // acquire[word-lock]
                                           std::memory_order_relaxed)) [[unlikely]]
            lock_slowly(holder);
    }
    bool try_lock(std::uint32_t holder = 0) noexcept;
    // The same for who may look again and again: where it is taken, ranks without a hart run now and then. May switch
    // then.
    bool test(std::uint32_t holder = 0) noexcept;
    // Never switches.
    void unlock() noexcept {
        std::uint32_t now = word_.load(std::memory_order_relaxed);
        if ((now & waited_for) ||
            !word_.compare_exchange_strong(now, 0, std::memory_order_release, // release[word-lock]
                                           std::memory_order_relaxed)) [[unlikely]]
            unlock_slowly();
    }
    bool is_taken() const noexcept { return word_.load(std::memory_order_relaxed) & taken; }
    std::uint32_t holder() const noexcept { return word_.load(std::memory_order_relaxed) >> 2; }

private:
    static constexpr std::uint32_t taken = 1, waited_for = 2;
    bool try_lock_or_mark(std::uint32_t holder) noexcept;
    bool is_marked() const noexcept { // taken, and known to be waited for
        return (word_.load(std::memory_order_relaxed) & (taken | waited_for)) == (taken | waited_for);
    }
    void lock_slowly(std::uint32_t holder) noexcept;
    void unlock_slowly() noexcept;

    std::atomic<std::uint32_t> word_{0}; // written by who takes or leaves it, or waits
};
static_assert(sizeof(word_lock) == 4);

// The process': of critical constructs without a name and of atomic ones that are done by a lock (gcc's ABI), and of
// atomic operations on types larger than the machine's (16 or 32 bytes).
extern word_lock unnamed_critical, atomic_sections;
word_lock &wide_atomics(std::size_t size) noexcept;

} // namespace comity::openmp
