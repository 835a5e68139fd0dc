// Which regions stood still lately, for their ranks wait for each other in loops of their own: the next ones with the
// same code would, too. README.md, "Watch".
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::spmd {

// Times are ticks. Any thread.
class standstills {
public:
    // A region with this code has stood still, and it would not have had its ranks been on kernel threads. `shortest`:
    // for how long it is remembered the first time; longer each time that it has happened again soon after.
    void note(const void *code, std::uint64_t now, std::uint64_t shortest) noexcept;
    bool may_know() const noexcept { return any_.load(std::memory_order_relaxed); }
    // Are they to be expected?
    bool know(const void *code, std::uint64_t now) const noexcept;

private:
    static constexpr unsigned longer = 4, most = 256; // times what it was; times the shortest
    struct entry {
        std::atomic<const void *> code{nullptr};
        std::atomic<std::uint64_t> until{0}, length{0};
    };
    static std::size_t place_of(const void *code) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(code);
        return (address >> 4 ^ address >> 10) % places;
    }
    // By code: a later one may push out another. Written by who has noted one, in a race with others: then they are
    // remembered for too short or too long a time.
    static constexpr std::size_t places = 64;
    std::array<entry, places> entries_;
    std::atomic<bool> any_{false};
};

} // namespace comity::spmd
