// OMP_AFFINITY_FORMAT (OpenMP 5.1, section 6.14): one line about a thread, made of fields such as %n or %{thread_num}.
#pragma once

#include <cstddef>

#include "personality/openmp/abi_traits.hpp"

namespace comity::openmp {

// As set by the environment or the program; else `otherwise`, an ABI's.
const char *affinity_format(const char *otherwise) noexcept;
void set_affinity_format(const char *format, std::size_t length) noexcept; // cut at 255 characters

// The line about the caller, cut to `size` with its end; returns the length it wants.
std::size_t format_affinity(char *buffer, std::size_t size, const char *format, const abi_traits &abi) noexcept;
// The same on standard error or output. With a null format: as affinity_format.
void print_affinity(const char *format, const abi_traits &abi) noexcept;

} // namespace comity::openmp
