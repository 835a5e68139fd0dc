// The OMP_* environment variables (OpenMP 5.1, chapter 6).
#pragma once

#include "personality/openmp/abi_traits.hpp"
#include "personality/openmp/icv.hpp"

namespace comity::openmp {

// How a variable is looked up, for tests: its value or null.
using look_up_function = const char *(*)(const char *variable);

// Reads the variables into `into`. A value that is not allowed gives one line on standard error and counts as not
// given. `nested`: whether regions within regions are parallel when nothing is said.
void read_environment(process_icvs &into, look_up_function look_up, bool nested) noexcept;

// Before the process' first use of OpenMP: reads the variables again if they have changed since the library was loaded.
// The originals are loaded later than a preloaded drop-in (a Python program sets os.environ before it imports what
// needs them), or read them only then. Any thread; never switches.
void refresh_environment() noexcept;

// What OMP_DISPLAY_ENV and omp_display_env print, on standard error, in the form of the ABI's original.
void display_environment(const abi_traits &abi, bool verbose) noexcept;

} // namespace comity::openmp
