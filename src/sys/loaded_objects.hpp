// The program and the libraries of this process, as the dynamic linker has loaded them. Any thread, not in a signal
// handler; takes the dynamic linker's lock for a moment; never switches.
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::sys {

struct address_range {
    std::uintptr_t begin = 0, end = 0;
    bool contains(std::uintptr_t address) const noexcept { return address >= begin && address < end; }
};

// What the object that contains this address takes of the address space; empty: none does.
COMITY_SHARED address_range object_around(const void *address) noexcept;

} // namespace comity::sys
