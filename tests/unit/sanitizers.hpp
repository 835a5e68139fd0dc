// Is this program built with a sanitizer (clang's, as in the presets)? For tests of what one of them cannot do.
#pragma once

#if !defined(__has_feature)
#define __has_feature(x) 0
#endif

// Lets a forked child make no threads.
inline constexpr bool thread_sanitizer = __has_feature(thread_sanitizer);
// Does not hold its allocator's locks over a fork: beside threads that allocate, a child may hang in its first malloc.
inline constexpr bool address_sanitizer = __has_feature(address_sanitizer);

#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
// What is allocated meanwhile is not reported as lost, where losing it is what the test is about.
struct unwatched_memory {
    unwatched_memory() { __lsan_disable(); }
    ~unwatched_memory() { __lsan_enable(); }
};
#else
struct unwatched_memory {
    unwatched_memory() {}
    ~unwatched_memory() {}
};
#endif
