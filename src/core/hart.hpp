// Harts: the rights to run on a core. Who holds one: README.md, "Hart grant and yield".
#pragma once

#include "sys/clock.hpp"

#include <atomic>
#include <cstdint>

namespace comity::core {

struct carrier;

struct alignas(64) hart {
    // Set while an adopted thread that left its outermost region keeps the hart and runs code outside Comity: the
    // keeper, who takes it back by a compare-exchange to null, as may whoever else needs a hart. Null: a carrier has
    // it, or it stands in the idle set.
    std::atomic<carrier *> keeper{nullptr};
    std::atomic<std::uint64_t> kept_since{0}; // ticks; written by the keeper before `keeper`
    std::atomic<int> keeper_id{0};            // the keeper's or the dozer's kernel thread
    // The context that dozes with the hart, `recalled` if it was asked to give it up; 0: none. Set by the context and
    // taken away by it, on its carrier ("Dozing": README.md).
    std::atomic<std::uintptr_t> dozer{0};
    static constexpr std::uintptr_t recalled = 1;
    int id = 0;
    std::atomic<carrier *> worker{nullptr}; // its own kernel thread; written by whoever holds the hart
};

} // namespace comity::core
