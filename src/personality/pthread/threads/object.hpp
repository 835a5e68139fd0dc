// What the synchronisation objects share: how their bytes are read, and the times of their callers.
#pragma once

#include "sync/address.hpp"
#include "sys/clock.hpp"
#include "sys/next_symbol.hpp"
#include "sys/sanitized.hpp"

#include <cerrno>
#include <cstdint>
#include <ctime>

#include <pthread.h>

#define COMITY_INTERPOSED extern "C" __attribute__((visibility("default")))
// Another name of the C library's for a function that this file defines: programs and libraries bind to either, so both
// are always the same.
#if __has_attribute(copy)
#define COMITY_ALSO_NAMED(name, function)                                                                              \
    extern "C" __attribute__((visibility("default"), alias(#function), copy(function))) decltype(::function) name
#else
#define COMITY_ALSO_NAMED(name, function)                                                                              \
    extern "C" __attribute__((visibility("default"), alias(#function))) decltype(::function) name
#endif

namespace comity::posix {

template <class Function> using next = sys::next_symbol<Function>;
// A sanitizer has one of its own, whose signals wait for the thread's next call; of this name it has none.
inline constexpr const char *sigaction_of_c_library = sys::sanitized ? "__sigaction" : "sigaction";

// The object that stands in the bytes of one of the C library's, whose static initialiser is its initial state.
template <class Own, class Given> Own &in(Given *object) noexcept {
    static_assert(sizeof(Own) <= sizeof(Given) && alignof(Own) <= alignof(Given));
    return *reinterpret_cast<Own *>(object);
}

inline bool is_time(const timespec *t) noexcept { return t && t->tv_nsec >= 0 && t->tv_nsec < 1'000'000'000; }

using sys::deadline_of, sys::nanoseconds;

inline bool is_clock(clockid_t clock) noexcept { return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC; }

} // namespace comity::posix
