// What the originals do differently where the standard leaves it open. A process may have both ABIs, so this goes with
// the call, not with the process.
#pragma once

#include "personality/openmp/icv.hpp"

namespace comity::openmp {

struct abi_traits {
    // schedule(runtime) where neither the environment nor the program says one.
    schedule_kind runtime_schedule;
    int runtime_chunk;
    bool static_is_monotonic; // omp_get_schedule says so of a static schedule that was not said to be
    const char *affinity_format;
    bool displays_on_output; // affinity on standard output, else on standard error
    bool bind_clause_lasts; // proc_bind holds for the regions inside as well, where OMP_PROC_BIND has no entry for them
    unsigned standard;      // _OPENMP, as OMP_DISPLAY_ENV shows it
    bool displays_as_llvm;  // the form of OMP_DISPLAY_ENV; and %i of an affinity format is the kernel thread's number,
                            // else pthread_self, in hexadecimal
    bool teams_have_regions; // a tool sees a region of one thread around what each team of a league does
};

inline constexpr abi_traits gcc_abi{
    schedule_kind::dynamic, 1, true, "level %L thread %i affinity %A", false, true, 201511, false, false};
inline constexpr abi_traits llvm_abi{schedule_kind::fixed,
                                     0,
                                     false,
                                     "OMP: pid %P tid %i thread %n bound to OS proc set {%A}",
                                     true,
                                     false,
                                     201611,
                                     true,
                                     true};

} // namespace comity::openmp
