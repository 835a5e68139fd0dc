// OMP_PLACES (OpenMP 5.1, section 6.5).
#pragma once

namespace comity::openmp {

// Is this how a list of places may be written? An abstract name with a count or without, or a list such as
// "{0,1},{2:4:2},!{3}" or "{0}:4". Ranks are not bound, so nobody looks whether the processors exist.
bool is_place_list(const char *text) noexcept;

} // namespace comity::openmp
