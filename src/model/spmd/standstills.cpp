#include "model/spmd/standstills.hpp"

#include <algorithm>

namespace comity::spmd {

void standstills::note(const void *code, unsigned ranks) noexcept {
    entry &e = of(code);
    const bool again = e.code.load(std::memory_order_relaxed) == code;
    const std::uint32_t before = e.length.load(std::memory_order_relaxed),
                        next = again ? std::min(2 * before, most) : first;
    const std::uint32_t fewest = again ? std::min(e.ranks.load(std::memory_order_relaxed), ranks) : ranks;
    e.code.store(code, std::memory_order_relaxed);
    e.ranks.store(fewest, std::memory_order_relaxed);
    e.length.store(next, std::memory_order_relaxed);
    e.left.store(next, std::memory_order_relaxed);
    e.gone_well.store(0, std::memory_order_relaxed);
    any_.store(true, std::memory_order_relaxed);
}

bool standstills::expects(const void *code, unsigned ranks) noexcept {
    entry &e = of(code);
    if (e.code.load(std::memory_order_relaxed) != code || ranks < e.ranks.load(std::memory_order_relaxed)) return false;
    const std::uint32_t left = e.left.load(std::memory_order_relaxed);
    if (left != 0) {
        e.left.store(left - 1, std::memory_order_relaxed);
        return true;
    }
    const std::uint32_t well = e.gone_well.load(std::memory_order_relaxed) + 1;
    e.gone_well.store(well, std::memory_order_relaxed);
    if (well > e.length.load(std::memory_order_relaxed)) e.code.store(nullptr, std::memory_order_relaxed);
    return false;
}

} // namespace comity::spmd
