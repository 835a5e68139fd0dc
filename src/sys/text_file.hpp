// Reading the small text files of /proc and /sys without allocating.
#pragma once

#include "sys/shared.hpp"

#include <cstddef>
#include <cstdint>

namespace comity::sys {

// Reads a file line by line. Any thread; never switches; every error reads as "no more lines".
class line_reader {
public:
    explicit line_reader(const char *path) noexcept;
    ~line_reader();
    line_reader(const line_reader &) = delete;
    line_reader &operator=(const line_reader &) = delete;

    bool is_open() const noexcept { return file_ >= 0; }

    // The next line without its end, or nullptr after the last. Valid until the next call; the caller may change it.
    // A line over 1 KiB is cut.
    char *next() noexcept;

private:
    bool refill() noexcept;

    static constexpr std::size_t longest_line = 1024;
    int file_;
    std::size_t at_ = 0, filled_ = 0;
    char chunk_[1024];
    char line_[longest_line + 1];
};

// Reads a whole number with nothing but blanks around it, `-` allowed. False, and `value` untouched, for anything else
// and for what does not fit. Returns where reading stopped through `end` when that is given; then more may follow.
COMITY_SHARED bool read_number(const char *text, std::int64_t &value, const char **end = nullptr) noexcept;

// The number that the first line of a file holds; false when the file or the number is missing.
bool read_number_file(const char *path, std::int64_t &value) noexcept;

} // namespace comity::sys
