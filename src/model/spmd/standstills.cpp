#include "model/spmd/standstills.hpp"

#include <algorithm>

namespace comity::spmd {

void standstills::note(const void *code, std::uint64_t now, std::uint64_t shortest) noexcept {
    entry &e = entries_[place_of(code)];
    const std::uint64_t length = e.length.load(std::memory_order_relaxed);
    const bool again = e.code.load(std::memory_order_relaxed) == code &&
                       now < e.until.load(std::memory_order_relaxed) + length; // else it has gone well for as long
    const std::uint64_t next = again ? std::min(length * longer, shortest * most) : shortest;
    e.code.store(code, std::memory_order_relaxed);
    e.length.store(next, std::memory_order_relaxed);
    e.until.store(now + next, std::memory_order_relaxed);
    any_.store(true, std::memory_order_relaxed);
}

bool standstills::know(const void *code, std::uint64_t now) const noexcept {
    const entry &e = entries_[place_of(code)];
    return e.code.load(std::memory_order_relaxed) == code && now < e.until.load(std::memory_order_relaxed);
}

} // namespace comity::spmd
