// COMITY_OWN_REGIONS: a library that asks whether it is in a parallel region, in order to be sequential there, is told
// only of regions that its own code has opened. docs/nested-libraries.md says which libraries ask, and what is true
// then.
#pragma once

#include "personality/openmp/thread.hpp"

namespace comity::openmp {

// The levels that omp_get_level (or, `active`, omp_get_active_level) answers to code at `caller`; omp_in_parallel is
// whether there are active ones. The program itself is told the truth. Any thread.
unsigned levels_seen_by(const void *caller, bool active) noexcept;

} // namespace comity::openmp
