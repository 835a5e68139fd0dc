// The variables that say where ranks run: OMP_PLACES, GOMP_CPU_AFFINITY, KMP_AFFINITY, KMP_HW_SUBSET and
// KMP_TEAMS_PROC_BIND. Contradictions: OMP_PROC_BIND=false binds nobody, and OMP_PLACES or OMP_PROC_BIND win over the
// others.
#pragma once

#include "personality/openmp/environment.hpp"
#include "personality/openmp/places.hpp"

namespace comity::openmp {

// Makes the list of places and says whether ranks are bound. After OMP_PROC_BIND and OMP_NUM_THREADS have been read. A
// value that is not allowed gives one line on standard error and counts as not given.
void read_affinity(process_icvs &into, look_up_function look_up) noexcept;

// The processors that KMP_HW_SUBSET leaves: "2s,4c@2,1t". False: it cannot be written so, or there are not as many.
bool read_hardware_subset(const char *text, const sys::topology &machine, sys::cpu_set &left);

// What KMP_AFFINITY says.
struct kmp_affinity {
    enum class kind : std::uint8_t { not_said, none, disabled, compact, scatter, balanced, explicit_list };
    kind type = kind::not_said;
    place_list places;
    unusable left_out; // of the proclist
};
bool read_kmp_affinity(const char *text, const sys::topology &machine, kmp_affinity &found);

// "0 3 1-2 4-15:2": a place for each processor, but for those that the machine does not have, or the process may not
// use.
bool read_cpu_list(const char *text, const sys::topology &machine, place_list &places, unusable &left_out);

} // namespace comity::openmp
