// The declarations of omp_* that a C program sees (OpenMP 5.1 as far as gcc 12 has it), exported, for their definitions
// here.
#pragma once

// How a function is defined that the headers do not declare: Fortran's. Any thread, in any region.
#define COMITY_OMP extern "C" __attribute__((visibility("default")))

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
#include <omp.h>
#pragma GCC visibility pop

#include "personality/openmp/abi_traits.hpp"

namespace comity::openmp {

// The drop-in's that this code is linked into.
extern const abi_traits &abi;

// omp_get_max_threads, omp_set_num_threads, omp_in_parallel and omp_get_level, omp_get_active_level, whose answer
// depends on who calls (blas_caller.hpp, own_regions.hpp).
int max_threads(const void *caller) noexcept;
void set_num_threads(int count, const void *caller) noexcept;
int in_parallel(const void *caller) noexcept;
int level(const void *caller) noexcept;
int active_level(const void *caller) noexcept;

} // namespace comity::openmp
