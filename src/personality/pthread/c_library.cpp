#include "personality/pthread/c_library.hpp"

#include "personality/pthread/condition.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"
#include "sys/next_symbol.hpp"
#include "sys/options.hpp"

#include <cstring>

namespace comity::posix::c_library {

namespace {

template <class Function> using next = sys::next_symbol<Function>;
COMITY_NEXT_SYMBOL next<int (*)(pthread_cond_t *, pthread_mutex_t *)> next_wait{"pthread_cond_wait"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_cond_t *, pthread_mutex_t *, const timespec *)> next_timed_wait{
    "pthread_cond_timedwait"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const timespec *)> next_clock_wait{
    "pthread_cond_clockwait"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_cond_t *)> next_signal{"pthread_cond_signal"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_cond_t *)> next_broadcast{"pthread_cond_broadcast"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_cond_t *)> next_destroy{"pthread_cond_destroy"};

// The one byte in which a condition that was made with this attribute differs from PTHREAD_COND_INITIALIZER; -1: not
// one.
template <class Set> int differing_byte(Set set, unsigned char &value) noexcept {
    pthread_condattr_t attribute;
    pthread_cond_t made;
    const pthread_cond_t plain = PTHREAD_COND_INITIALIZER;
    unsigned char bytes[sizeof made], zero[sizeof made];
    std::memset(static_cast<void *>(&made), 0, sizeof made);
    pthread_condattr_init(&attribute);
    set(&attribute);
    pthread_cond_init(&made, &attribute);
    pthread_condattr_destroy(&attribute);
    std::memcpy(bytes, &made, sizeof made);
    std::memcpy(zero, &plain, sizeof plain);
    int at = -1;
    for (unsigned i = 0; i < sizeof made; ++i) {
        if (bytes[i] == zero[i]) continue;
        if (at >= 0) return -1;
        at = static_cast<int>(i);
        value = bytes[i] ^ zero[i];
    }
    return at;
}

attribute_word look() noexcept {
    unsigned char shared = 0, monotonic = 0, nothing = 0;
    const int plain = differing_byte([](pthread_condattr_t *) {}, nothing);
    const int at =
        differing_byte([](pthread_condattr_t *a) { pthread_condattr_setpshared(a, PTHREAD_PROCESS_SHARED); }, shared);
    const int same =
        differing_byte([](pthread_condattr_t *a) { pthread_condattr_setclock(a, CLOCK_MONOTONIC); }, monotonic);
    const bool known = plain == -1 && nothing == 0 && at == same && at >= static_cast<int>(sizeof(condition)) &&
                       (shared & monotonic) == 0;
    if (!known)
        sys::warn("this C library's condition variables are of an unknown kind; they are left to it");
    else if (sys::get_options().verbose)
        sys::warn("condition variables: served, by %s", sys::file_around(reinterpret_cast<const void *>(&look)));
    return {1, static_cast<std::uint16_t>(known ? at : 0), shared, monotonic};
}

} // namespace

std::atomic<attribute_word> attributes{};

int wait(pthread_cond_t *c, pthread_mutex_t *m) { return next_wait.get()(c, m); }
int timed_wait(pthread_cond_t *c, pthread_mutex_t *m, const timespec *deadline) {
    return next_timed_wait.get()(c, m, deadline);
}
int clock_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const timespec *deadline) {
    return next_clock_wait.get()(c, m, clock, deadline);
}
int signal(pthread_cond_t *c) { return next_signal.get()(c); }
int broadcast(pthread_cond_t *c) { return next_broadcast.get()(c); }
int destroy(pthread_cond_t *c) { return next_destroy.get()(c); }

attribute_word find_attributes() noexcept {
    const attribute_word a = look();
    attributes.store(a, std::memory_order_relaxed);
    return a;
}

} // namespace comity::posix::c_library
