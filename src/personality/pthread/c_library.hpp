// The C library's own condition variables: its functions, and where they note what pthread_cond_init was told.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include <pthread.h>

namespace comity::posix::c_library {

// The definitions after this object's. Any thread.
int wait(pthread_cond_t *c, pthread_mutex_t *m);
int timed_wait(pthread_cond_t *c, pthread_mutex_t *m, const timespec *deadline);
int clock_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const timespec *deadline);
int signal(pthread_cond_t *c);
int broadcast(pthread_cond_t *c);
int destroy(pthread_cond_t *c);

// glibc keeps two attributes of a condition as two bits of one of its words; which word differs between its versions.
// `found` is 0 until somebody has looked: several threads may do so at once, and find the same.
struct alignas(8) attribute_word {
    std::uint16_t found, offset; // offset 0: not to be found
    std::uint16_t shared, monotonic;
    unsigned byte_of(const pthread_cond_t *c) const noexcept {
        return reinterpret_cast<const unsigned char *>(c)[offset];
    }
};
static_assert(sizeof(attribute_word) == 8);
extern std::atomic<attribute_word> attributes;
attribute_word find_attributes() noexcept;
inline attribute_word get_attributes() noexcept {
    const attribute_word a = attributes.load(std::memory_order_relaxed);
    return a.offset != 0 || a.found ? a : find_attributes();
}

// Does the condition belong to one process, so that it may be Comity's? False for those shared between processes, whose
// other users may run without Comity; and for all of them where the C library keeps its attributes in a way that we do
// not know. Any thread.
inline bool is_private(const pthread_cond_t *c) noexcept {
    const attribute_word a = get_attributes();
    return a.offset != 0 && !(a.byte_of(c) & a.shared);
}
// The clock of its timed waits: CLOCK_REALTIME or CLOCK_MONOTONIC.
inline clockid_t clock_of(const pthread_cond_t *c) noexcept {
    const attribute_word a = get_attributes();
    return a.byte_of(c) & a.monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

} // namespace comity::posix::c_library
