#include "sys/message.hpp"
#include "sys/errno_kept.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

namespace comity::sys {
namespace {

constexpr std::size_t line_size = 1024 + 64;

// Appends characters and cuts at the end of the buffer; keeps room for the terminator.
class text_sink {
public:
    text_sink(char *buffer, std::size_t size) noexcept : begin_(buffer), at_(buffer), end_(buffer + size - 1) {}

    void put(char c) noexcept {
        if (at_ < end_) *at_++ = c;
    }
    void put(const char *text) noexcept {
        for (text = text ? text : "(null)"; *text; ++text) put(*text);
    }
    void put(std::uintmax_t value, unsigned base) noexcept {
        char digits[24];
        int n = 0;
        do digits[n++] = "0123456789abcdef"[value % base];
        while ((value /= base) != 0);
        while (n > 0) put(digits[--n]);
    }
    void put_signed(std::intmax_t value) noexcept {
        if (value < 0) put('-');
        const auto bits = static_cast<std::uintmax_t>(value);
        put(value < 0 ? 0 - bits : bits, 10);
    }
    std::size_t finish() noexcept {
        *at_ = '\0';
        return static_cast<std::size_t>(at_ - begin_);
    }

private:
    char *begin_, *at_, *end_;
};

enum class length_modifier { none, l, ll };

// h, l, ll, z and j; z and j are ll on every machine that Comity knows.
length_modifier read_length(const char *&format) noexcept {
    auto length = length_modifier::none;
    for (;; ++format) {
        if (*format == 'l')
            length = length == length_modifier::l ? length_modifier::ll : length_modifier::l;
        else if (*format == 'z' || *format == 'j')
            length = length_modifier::ll;
        else if (*format != 'h')
            return length;
    }
}

// va_list may be an array, which cannot be passed on by reference as a parameter; a struct can.
struct value_list {
    std::va_list values;
};

std::intmax_t next_signed(value_list &list, length_modifier length) noexcept {
    if (length == length_modifier::l) return va_arg(list.values, long);
    if (length == length_modifier::ll) return va_arg(list.values, long long);
    return va_arg(list.values, int);
}

std::uintmax_t next_unsigned(value_list &list, length_modifier length) noexcept {
    if (length == length_modifier::l) return va_arg(list.values, unsigned long);
    if (length == length_modifier::ll) return va_arg(list.values, unsigned long long);
    return va_arg(list.values, unsigned);
}

void put_conversion(text_sink &sink, const char *&format, value_list &list) noexcept {
    const length_modifier length = read_length(format);
    switch (*format) {
    case 's':
        sink.put(va_arg(list.values, const char *));
        break;
    case 'c':
        sink.put(static_cast<char>(va_arg(list.values, int)));
        break;
    case 'd':
    case 'i':
        sink.put_signed(next_signed(list, length));
        break;
    case 'u':
        sink.put(next_unsigned(list, length), 10);
        break;
    case 'x':
        sink.put(next_unsigned(list, length), 16);
        break;
    case 'p':
        sink.put("0x");
        sink.put(reinterpret_cast<std::uintptr_t>(va_arg(list.values, void *)), 16);
        break;
    case '\0':
        --format;
        break; // a lone % at the end: the caller's loop shall see the terminator
    default:
        sink.put(*format);
    }
}

} // namespace

std::size_t format_text_list(char *buffer, std::size_t size, const char *format, std::va_list values) noexcept {
    text_sink sink(buffer, size);
    value_list list;
    va_copy(list.values, values);
    for (; *format; ++format) {
        if (*format == '%')
            put_conversion(sink, ++format, list);
        else
            sink.put(*format);
    }
    va_end(list.values);
    return sink.finish();
}

std::size_t format_text(char *buffer, std::size_t size, const char *format, ...) noexcept {
    std::va_list values;
    va_start(values, format);
    const std::size_t length = format_text_list(buffer, size, format, values);
    va_end(values);
    return length;
}

void write_error(const char *text, std::size_t length) noexcept {
    const errno_kept kept;
    while (length > 0) {
        const ssize_t n = ::syscall(SYS_write, STDERR_FILENO, text, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text += n;
        length -= static_cast<std::size_t>(n);
    }
}

void warn(const char *format, ...) noexcept {
    char line[line_size];
    std::size_t length = format_text(line, sizeof line, "comity: ");
    std::va_list values;
    va_start(values, format);
    length += format_text_list(line + length, sizeof line - length - 1, format, values);
    va_end(values);
    line[length++] = '\n';
    write_error(line, length);
}

void fatal(const char *call, const char *format, ...) noexcept {
    char line[line_size];
    std::size_t length = format_text(line, sizeof line, "comity: %s: ", call);
    std::va_list values;
    va_start(values, format);
    length += format_text_list(line + length, sizeof line - length - 1, format, values);
    va_end(values);
    line[length++] = '\n';
    write_error(line, length);
    std::abort();
}

} // namespace comity::sys
