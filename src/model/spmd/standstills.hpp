// Which regions stood still lately, for their ranks wait for each other in loops of their own: the next ones with the
// same code would, too. README.md, "Watch".
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::spmd {

// Of what regions are known by (`run`'s known_as), for tables in which a later one may push out another.
inline std::size_t hash_of_code(const void *code) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    return address >> 4 ^ address >> 10;
}

// Any thread. What several do at once with one entry changes only for how many regions it holds.
class standstills {
public:
    // A region with this code and so many ranks has stood still, and would not have had they been on kernel threads.
    void note(const void *code, unsigned ranks) noexcept;
    bool may_know() const noexcept { return any_.load(std::memory_order_relaxed); }
    // Another one begins. Would it? It is expected of those with as many ranks, or more.
    bool expects(const void *code, unsigned ranks) noexcept;

    // It is expected of so many regions: what all of them lose on kernel threads, if that was wrong, is about what the
    // one has lost. Of twice as many each time that it happens again within as many.
    static constexpr std::uint32_t first = 1024, most = 256 * first;

private:
    struct entry {
        std::atomic<const void *> code{nullptr};
        std::atomic<std::uint32_t> ranks{0}, length{0}, left{0}, gone_well{0}; // the last two count regions
    };
    entry &of(const void *code) noexcept { return entries_[hash_of_code(code) % entries_.size()]; }
    std::array<entry, 64> entries_;
    std::atomic<bool> any_{false};
};

} // namespace comity::spmd
