#include "personality/openmp/affinity_format.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/spinlock.hpp"
#include "personality/openmp/binding.hpp"
#include "personality/openmp/held_over_forks.hpp"
#include "personality/openmp/places.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

core::spinlock lock;                         // guards what follows
constexpr std::size_t longest_format = 4096; // with the end; what is longer is cut
char current_format[longest_format];
bool is_set = false;

__attribute__((constructor)) void watch_forks() noexcept { hold_over_forks<lock>("in omp_set_affinity_format"); }

struct output {
    char *buffer;
    std::size_t size, length = 0;
    void add(const char *text, std::size_t n) noexcept {
        for (std::size_t i = 0; i < n; ++i, ++length)
            if (length + 1 < size) buffer[length] = text[i];
    }
    void pad(char with, std::size_t n) noexcept {
        if (length + 1 < size) std::memset(buffer + length, with, std::min(n, size - 1 - length));
        length += n;
    }
};

struct field {
    char letter;
    const char *name;
};
constexpr field fields[] = {{'t', "team_num"},       {'T', "num_teams"},   {'L', "nesting_level"},
                            {'n', "thread_num"},     {'N', "num_threads"}, {'a', "ancestor_tnum"},
                            {'H', "host"},           {'P', "process_id"},  {'i', "native_thread_id"},
                            {'A', "thread_affinity"}};

// "0-3,8": as much as there is room for.
void write_cpus(const sys::cpu_set &cpus, char *text, std::size_t size) noexcept {
    std::size_t length = 0;
    for (int first = cpus.next(), last = 0; first >= 0 && length + 1 < size; first = cpus.next(last + 1)) {
        for (last = first; cpus.has(last + 1);) ++last;
        const char *format = last > first ? "%s%d-%d" : "%s%d";
        length += sys::format_text(text + length, size - length, format, length ? "," : "", first, last);
    }
}

// The field's value, undecorated.
void value_of(char letter, char *text, std::size_t size, const abi_traits &abi) noexcept {
    const thread *t = self;
    const thread *parent = t->team->parent;
    switch (letter) {
    case 't':
        sys::format_text(text, size, "%u", initial_thread()->team_number);
        break;
    case 'T':
        sys::format_text(text, size, "%u", initial_thread()->teams);
        break;
    case 'L':
        sys::format_text(text, size, "%u", t->team->level);
        break;
    case 'n':
        sys::format_text(text, size, "%u", t->rank);
        break;
    case 'N':
        sys::format_text(text, size, "%u", t->size);
        break;
    case 'a':
        sys::format_text(text, size, "%d", parent ? static_cast<int>(parent->rank) : -1);
        break;
    case 'P':
        sys::format_text(text, size, "%d", sys::process_id());
        break;
    case 'i':
        if (abi.displays_as_llvm)
            sys::format_text(text, size, "%d", sys::kernel_thread_id());
        else
            sys::format_text(text, size, "0x%llx", static_cast<unsigned long long>(sys::thread_identity()));
        break;
    case 'H': {
        char host[65] = "node";
        if (std::FILE *file = std::fopen("/proc/sys/kernel/hostname", "re")) {
            if (std::fgets(host, sizeof host, file)) host[std::strcspn(host, "\n")] = 0;
            std::fclose(file);
        }
        sys::format_text(text, size, "%s", host);
        break;
    }
    case 'A': {
        const int place = placement_of(current()).place;
        sys::cpu_set cpus;
        if (place >= 0)
            cpus = *cpus_of_place(place);
        else if (!sys::get_thread_cpus(0, cpus))
            cpus = sys::process_cpus();
        write_cpus(cpus, text, size);
        break;
    }
    default:
        sys::format_text(text, size, "undefined");
    }
}

char letter_of(const char *&format) noexcept {
    if (*format != '{') return *format ? *format++ : '\0';
    const char *end = std::strchr(format, '}');
    if (!end) return 0;
    char letter = '?';
    for (const field &f : fields)
        if (std::strlen(f.name) == static_cast<std::size_t>(end - format - 1) &&
            !std::strncmp(f.name, format + 1, end - format - 1))
            letter = f.letter;
    format = end + 1;
    return letter;
}

// %[0][.][width]field: a dot aligns to the right, a zero (with it) fills with zeros.
void add_field(output &out, const char *&format, const abi_traits &abi) noexcept {
    const bool zeros = *format == '0' && (++format, true);
    const bool right = *format == '.' && (++format, true);
    std::size_t width = 0;
    constexpr std::size_t widest = INT_MAX / 2; // so that what is written can be counted
    while (*format >= '0' && *format <= '9')
        width = std::min(width * 10 + static_cast<std::size_t>(*format++ - '0'), widest);
    char text[1024]; // a list of processors may be long
    value_of(letter_of(format), text, sizeof text, abi);
    const std::size_t length = std::strlen(text);
    const std::size_t padding = width > length ? width - length : 0;
    const bool negative = right && zeros && *text == '-'; // the sign stands before the zeros
    if (negative) out.add("-", 1);
    if (right) out.pad(zeros ? '0' : ' ', padding);
    out.add(text + negative, length - negative);
    if (!right) out.pad(' ', padding);
}

} // namespace

const char *affinity_format(const char *otherwise) noexcept { return is_set ? current_format : otherwise; }

void set_affinity_format(const char *format, std::size_t length) noexcept {
    lock.lock();
    if (length > sizeof current_format - 1) length = sizeof current_format - 1;
    std::memcpy(current_format, format, length);
    current_format[length] = 0;
    is_set = true;
    lock.unlock();
}

std::size_t format_affinity(char *buffer, std::size_t size, const char *format, const abi_traits &abi) noexcept {
    output out{buffer, size};
    while (*format) {
        if (*format != '%') {
            out.add(format++, 1);
        } else if (format[1] == '%') {
            out.add("%", 1);
            format += 2;
        } else {
            add_field(out, ++format, abi);
        }
    }
    if (size) buffer[out.length < size ? out.length : size - 1] = 0;
    return out.length;
}

void print_affinity(const char *format, const abi_traits &abi) noexcept {
    char line[1024];
    std::size_t length =
        format_affinity(line, sizeof line - 1, format && *format ? format : affinity_format(abi.affinity_format), abi);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    if (abi.displays_on_output)
        std::fwrite(line, 1, length, stdout);
    else
        sys::write_error(line, length);
}

} // namespace comity::openmp
