// barrier, critical, atomic, error.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/lock.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;

namespace {
// The compiler gives a pointer-sized word, zero at first, for each name. All objects of the program share it.
word_lock &lock_of(void **name) noexcept { return *reinterpret_cast<word_lock *>(name); }
} // namespace

COMITY_GOMP void GOMP_barrier() noexcept { barrier(current()); }
COMITY_GOMP bool GOMP_barrier_cancel() noexcept { return barrier_or_cancel(current()); }

COMITY_GOMP void GOMP_critical_start() noexcept { unnamed_critical.lock(); }
COMITY_GOMP void GOMP_critical_end() noexcept { unnamed_critical.unlock(); }
COMITY_GOMP void GOMP_critical_name_start(void **name) noexcept { lock_of(name).lock(); }
COMITY_GOMP void GOMP_critical_name_end(void **name) noexcept { lock_of(name).unlock(); }
COMITY_GOMP void GOMP_atomic_start() noexcept { atomic_sections.lock(); }
COMITY_GOMP void GOMP_atomic_end() noexcept { atomic_sections.unlock(); }

// The error directive, with at(execution): the program's own message, in the words of the original.
// A length of -1 stands for a text with an end.

namespace {

void cut(char (&copy)[512], const char *text, std::size_t length) noexcept {
    if (!text)
        length = 0;
    else if (length == SIZE_MAX)
        length = std::strlen(text);
    length = length < sizeof copy - 1 ? length : sizeof copy - 1;
    if (length) std::memcpy(copy, text, length);
    copy[length] = 0;
}

void say(const char *before, const char *text) noexcept {
    char line[640];
    const std::size_t length = comity::sys::format_text(line, sizeof line, "\n%serror directive encountered%s%s\n",
                                                        before, *text ? ": " : "", text);
    comity::sys::write_error(line, length);
}

} // namespace

COMITY_GOMP void GOMP_warning(const char *text, std::size_t length) noexcept {
    char copy[512];
    cut(copy, text, length);
    say("libgomp: ", copy);
}
COMITY_GOMP void GOMP_error(const char *text, std::size_t length) noexcept {
    char copy[512];
    cut(copy, text, length);
    say("libgomp: fatal error: ", copy);
    std::exit(1);
}
