#include "sys/text_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/errno_kept.hpp"

namespace comity::sys {

line_reader::line_reader(const char *path) noexcept : file_(-1) {
    const errno_kept kept;
    do file_ = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    while (file_ < 0 && errno == EINTR);
}

line_reader::~line_reader() {
    if (file_ >= 0) ::syscall(SYS_close, file_);
}

bool line_reader::refill() noexcept {
    if (file_ < 0) return false;
    const errno_kept kept;
    ssize_t n = 0;
    do n = ::syscall(SYS_read, file_, chunk_, sizeof chunk_);
    while (n < 0 && errno == EINTR);
    at_ = 0;
    filled_ = n > 0 ? static_cast<std::size_t>(n) : 0;
    return n > 0;
}

char *line_reader::next() noexcept {
    std::size_t length = 0;
    bool any = false;
    while (at_ < filled_ || refill()) {
        any = true;
        const char c = chunk_[at_++];
        if (c == '\n') break;
        if (length < longest_line) line_[length++] = c;
    }
    line_[length] = '\0';
    return any ? line_ : nullptr;
}

bool read_number(const char *text, std::int64_t &value, const char **end) noexcept {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (is_blank(*text)) ++text;
    const bool negative = *text == '-';
    if (negative) ++text;
    if (*text < '0' || *text > '9') return false;
    std::int64_t result = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        const int digit = negative ? '0' - *text : *text - '0';
        if (__builtin_mul_overflow(result, 10, &result) || __builtin_add_overflow(result, digit, &result)) return false;
    }
    if (end)
        *end = text;
    else {
        while (is_blank(*text)) ++text;
        if (*text) return false;
    }
    value = result;
    return true;
}

bool read_number_file(const char *path, std::int64_t &value) noexcept {
    line_reader file(path);
    const char *line = file.next();
    return line && read_number(line, value);
}

} // namespace comity::sys
