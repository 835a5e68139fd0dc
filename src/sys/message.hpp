// What Comity says to its user: single lines on standard error, each by one write(2), so that lines of different
// threads and processes never mix.
//
// The formats are printf's, restricted to %s %c %d %i %u %x %p %%, the lengths h, l, ll, z and j, and no widths: the
// formatter is our own, allocates nothing and needs under 2 KiB of stack, so all of this may be called from any thread,
// on any stack, and from a signal handler. Nothing here switches; errno is kept.
#pragma once

#include "sys/shared.hpp"

#include <cstdarg>
#include <cstddef>

namespace comity::sys {

// Prints "comity: ", the text and a new line. Text beyond 1 KiB is cut.
COMITY_SHARED void warn(const char *format, ...) noexcept __attribute__((format(printf, 1, 2)));

// A broken contract: prints "comity: CALL: ", the text and a new line, then aborts. `call` is the function that the
// user called; the text says what happened and what to do.
[[noreturn]] COMITY_SHARED void fatal(const char *call, const char *format, ...) noexcept
    __attribute__((format(printf, 2, 3)));

// Formats into buffer[0 .. size), always terminated (size >= 1). Returns the length that is there after cutting.
COMITY_SHARED std::size_t format_text(char *buffer, std::size_t size, const char *format, ...) noexcept
    __attribute__((format(printf, 3, 4)));
COMITY_SHARED std::size_t format_text_list(char *buffer, std::size_t size, const char *format,
                                           std::va_list values) noexcept __attribute__((format(printf, 3, 0)));

// Writes all of text[0 .. length) to standard error, by one write(2) unless the kernel takes only a part of it.
// An error is ignored: there is nobody left to tell.
COMITY_SHARED void write_error(const char *text, std::size_t length) noexcept;

} // namespace comity::sys
