// Regions that the caller enters by one call and leaves by another (the ABI of gcc before 4.9).
#pragma once

#include "personality/openmp/region.hpp"

namespace comity::openmp {

// The caller goes on as rank 0 of the region; the other ranks run r.function. May switch.
void start_legacy_region(const region &r) noexcept;
// Returns when the other ranks have finished. The caller must be where it was after start_legacy_region. May switch.
void end_legacy_region() noexcept;

} // namespace comity::openmp
