// Slabs of stacks and their size classes: what stack_pool.cpp works on. Rules: README.md, "Stacks".
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sys/slot_set.hpp"
#include "sys/stack_area.hpp"
#include "sys/stack_pool.hpp"

namespace comity::sys::stack_slabs {

inline constexpr std::size_t line = 64, mebi = std::size_t{1} << 20;
inline constexpr std::size_t colours = 32; // half of the lines of a page: the other half is room for the first frames
inline constexpr std::size_t small_slot =
    small_stack_size + line;            // an odd number of lines, so that their tops spread too
inline constexpr unsigned classes = 16; // small; a page times 2^0 .. 2^14
inline constexpr unsigned no_class = classes;
inline constexpr std::uint32_t group = 16; // so many stacks share a guard when there are not enough for each
inline constexpr std::uint32_t most_slabs = 1U << 16;

// The slots of a class: [guard | the stack], one after the other.
struct slot_shape {
    std::size_t guard, stride;
};

inline slot_shape shape_of(unsigned size_class) noexcept {
    if (size_class == 0) return {0, small_slot};
    const std::size_t page = page_size(), size = page << (size_class - 1), guard = guard_size(size);
    const std::size_t pages = (size + guard) / page + 1; // one more, for the colours
    return {guard, (pages | 1) * page};                  // odd: see map_stack
}

inline unsigned class_of(std::size_t size) noexcept {
    if (size <= small_stack_size) return 0;
    const std::size_t pages = size / page_size() + (size % page_size() != 0);
    const auto c = static_cast<unsigned>(std::bit_width(pages - 1)) + 1;
    return c < classes ? c : no_class;
}

// At the lowest addresses of its mapping; the sets' bits and the kinds of the guards lie behind it, then a guard page,
// then the slots.
struct slab {
    slab *next = nullptr, *previous = nullptr; // in the class's list of slabs with room
    bool listed = false;
    slot_set warm, cold;      // free slots, as in stack_pool_state
    std::uint32_t carved = 0; // the slots from here on were never taken
    std::uint32_t slots = 0;  // how many there are; from here on: not changed any more
    std::uint32_t number = 0; // in `slabs`
    unsigned size_class = 0;
    std::size_t mapped = 0;                   // bytes
    std::byte *first = nullptr;               // slot 0
    std::atomic<guard_kind> *kinds = nullptr; // of each slot; written by who holds it, read by its group's others

    [[nodiscard]] bool has_room() const noexcept { return warm.size() + cold.size() != 0 || carved < slots; }
    [[nodiscard]] std::uint32_t out() const noexcept { return carved - warm.size() - cold.size(); }
};

} // namespace comity::sys::stack_slabs
