// The OMP_* environment variables (OpenMP 5.1, chapter 6).
#pragma once

#include "personality/openmp/abi_traits.hpp"
#include "personality/openmp/icv.hpp"

namespace comity::openmp {

// A variable's value, or null; always null in a set-user-id program, whose environment is not trusted.
const char *look_up(const char *variable) noexcept;

// Every form of a flag that libgomp or libomp has. False: it is none.
bool read_flag(const char *text, bool &flag) noexcept;

// OMP_TARGET_OFFLOAD's values. False: it is none.
bool read_target_offload(const char *text, process_icvs::offload &offload) noexcept;

// Before the process' first use of OpenMP: reads the variables again if they have changed since the library was loaded.
// The originals are loaded later than a preloaded drop-in (a Python program sets os.environ before it imports what
// needs them), or read them only then. Any thread; never switches.
void refresh_environment() noexcept;

// What OMP_DISPLAY_ENV and omp_display_env print, on standard error, in the form of the ABI's original.
void display_environment(const abi_traits &abi, bool verbose) noexcept;

} // namespace comity::openmp
