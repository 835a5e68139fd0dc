// The variables that say where ranks run: OMP_PLACES, GOMP_CPU_AFFINITY, KMP_AFFINITY, KMP_HW_SUBSET and
// KMP_TEAMS_PROC_BIND. Contradictions: OMP_PROC_BIND=false binds nobody, and OMP_PLACES or OMP_PROC_BIND win over the
// others.
#pragma once

#include "personality/openmp/icv.hpp"

namespace comity::openmp {

// Makes the list of places and says whether ranks are bound. After OMP_PROC_BIND and OMP_NUM_THREADS have been read. A
// value that is not allowed gives one line on standard error and counts as not given.
void read_affinity(process_icvs &into) noexcept;

} // namespace comity::openmp
