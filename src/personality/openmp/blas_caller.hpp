// What OpenBLAS and BLIS need beyond the standard. All that the OpenMP personality knows of those libraries is here and
// in blas_caller.cpp.
//
// OpenBLAS' OpenMP build asks omp_get_max_threads() once at each of its entries and cuts its work for that many
// threads, which then wait for each other without telling anybody but sched_yield(): a gang. It allows only one
// parallel call at a time in a process and lets others spin without limit. So it is told 1 whenever it could not have
// two harts at once, or another call has them; then it keeps one all the same (spmd::claim_harts), so that the other
// call is not told of its core; and a region gets exactly the threads that it was told. The builds in
// Python wheels use pthreads, but ask omp_in_parallel() whether to complain.
//
// BLIS' OpenMP build opens regions of as many threads as the user says (BLIS_NUM_THREADS), wherever it is called, and
// these wait for each other in loops of their own, many times in a product. So its regions are gangs, too. Where there
// is no hart for each thread they have one, which BLIS can do with (as where nesting is off), but not with any other
// number.
#pragma once

#include "personality/openmp/thread.hpp"

namespace comity::openmp::blas {

// All take the return address of the ABI function that was called, cost a few instructions for callers that are not
// OpenBLAS or BLIS, and may be called from any thread.

// How many threads the calling OpenBLAS function shall use; 0: the caller is not OpenBLAS.
unsigned max_threads(const void *caller) noexcept;
// Is this omp_set_num_threads() OpenBLAS' own bookkeeping, not the user's wish?
bool sets_threads(const void *caller) noexcept;
// Is the caller not to know that it is in a region?
bool hides_regions(const void *caller) noexcept;
// How many ranks this region must have, which asks for `wanted` (0: it does not say); 0: as many as any caller's would
// have, who is none of the two, or an OpenBLAS that was not told anything.
unsigned ranks_of_region(thread *t, const void *caller, unsigned wanted) noexcept;
// After such a region.
void region_is_over(thread *t) noexcept;

} // namespace comity::openmp::blas
