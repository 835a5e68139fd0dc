// What a C program gives for an enumeration may be none of its values.
#pragma once

#include <cstring>

namespace comity::sys {

// The number that it gave, without reading it as the enumeration.
template <class Enumeration> unsigned number_of(const Enumeration &e) noexcept {
    unsigned n = 0;
    static_assert(sizeof n == sizeof e);
    std::memcpy(&n, &e, sizeof n);
    return n;
}

} // namespace comity::sys
