// barrier, critical, atomic, error.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/lock.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;

namespace {
// The compiler gives a pointer-sized word, zero at first, for each name. All objects of the program share it.
word_lock &lock_of(void **name) noexcept { return *reinterpret_cast<word_lock *>(name); }

[[gnu::always_inline]] inline void take(word_lock &l, ompt::mutex_kind kind, ompt::call_site at) noexcept {
    ompt::either([lock = &l, kind](ompt::call_site p) { ompt::lock(*lock, kind, 0, p); }, [lock = &l] { lock->lock(); },
                 at);
}
[[gnu::always_inline]] inline void leave(word_lock &l, ompt::mutex_kind kind, ompt::call_site at) noexcept {
    ompt::either([lock = &l, kind](ompt::call_site p) { ompt::unlock(*lock, kind, p); },
                 [lock = &l] { lock->unlock(); }, at);
}
constexpr auto critical = ompt::mutex_kind::critical, atomic = ompt::mutex_kind::atomic;

// gcc calls these for a barrier of the program's and for that of a construct that it deals out itself.
constexpr auto barrier_kind = ompt::sync_kind::barrier_explicit;
} // namespace

COMITY_GOMP void GOMP_barrier() noexcept {
    ompt::either([](ompt::call_site at) { ompt::synchronize(barrier_kind, at, [] { barrier(self); }); },
                 [] { barrier(current()); }, COMITY_OMPT_HERE);
}
COMITY_GOMP bool GOMP_barrier_cancel() noexcept {
    const auto tell = [](ompt::call_site at) {
        return ompt::synchronize(barrier_kind, at, [] { return barrier_or_cancel(self); });
    };
    return ompt::either(
        tell, [] { return barrier_or_cancel(current()); }, COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_critical_start() noexcept { take(unnamed_critical, critical, COMITY_OMPT_HERE); }
COMITY_GOMP void GOMP_critical_end() noexcept { leave(unnamed_critical, critical, COMITY_OMPT_HERE); }
COMITY_GOMP void GOMP_critical_name_start(void **name) noexcept { take(lock_of(name), critical, COMITY_OMPT_HERE); }
COMITY_GOMP void GOMP_critical_name_end(void **name) noexcept { leave(lock_of(name), critical, COMITY_OMPT_HERE); }
COMITY_GOMP void GOMP_atomic_start() noexcept { take(atomic_sections, atomic, COMITY_OMPT_HERE); }
COMITY_GOMP void GOMP_atomic_end() noexcept { leave(atomic_sections, atomic, COMITY_OMPT_HERE); }

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
    if (ompt::on()) ompt::error(false, copy, std::strlen(copy), COMITY_OMPT_HERE);
    say("libgomp: ", copy);
}
COMITY_GOMP void GOMP_error(const char *text, std::size_t length) noexcept {
    char copy[512];
    cut(copy, text, length);
    if (ompt::on()) ompt::error(true, copy, std::strlen(copy), COMITY_OMPT_HERE);
    say("libgomp: fatal error: ", copy);
    std::exit(1);
}
