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
word_lock unnamed_critical, atomic_sections;

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

// The error directive, with at(execution). A length of -1 stands for a text with an end.
COMITY_GOMP void GOMP_warning(const char *text, std::size_t length) noexcept {
    char copy[512] = "";
    if (text && length == SIZE_MAX)
        length = std::strlen(text);
    if (text)
        std::memcpy(copy, text, length < sizeof copy - 1 ? length : sizeof copy - 1);
    comity::sys::warn("error directive encountered%s%s", *copy ? ": " : "", copy);
}
COMITY_GOMP void GOMP_error(const char *text, std::size_t length) noexcept {
    GOMP_warning(text, length);
    std::exit(1);
}
