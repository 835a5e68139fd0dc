// OMP_AFFINITY_FORMAT (OpenMP 5.1, section 6.14): one line about a thread, made of fields such as %n or %{thread_num}.
#pragma once

#include <cstddef>

namespace comity::openmp {

const char *affinity_format() noexcept;
void set_affinity_format(const char *format, std::size_t length) noexcept; // cut at 255 characters

// The line about the caller, cut to `size` with its end; returns the length it wants.
std::size_t format_affinity(char *buffer, std::size_t size, const char *format) noexcept;
// The same on standard error.
void print_affinity(const char *format) noexcept;

} // namespace comity::openmp
