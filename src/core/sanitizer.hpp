// What ThreadSanitizer and AddressSanitizer must be told of a switch (their "fiber" interfaces). Without them: nothing.
//
// A full context's TLS block belongs to a real kernel thread, its donor, and the sanitizers keep their state of a
// thread in its TLS; so they follow full contexts by themselves. Contexts that share a TLS block (bare, native,
// transition) are fibers. Their part must run with the TLS of the context that is switched to.
//
// What a carrier runs one after the other is ordered, also where TLS blocks change (orders_switches).
#pragma once

#include "core/tls/sanitized.hpp"
#include "sys/sanitized.hpp"
#include "sys/shared.hpp"

#if defined(COMITY_TSAN)
#include <sanitizer/tsan_interface.h>
#elif defined(COMITY_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__clang__)
#define COMITY_UNSANITIZED                                                                                             \
    __attribute__((disable_sanitizer_instrumentation, no_sanitize("address", "thread", "undefined")))
#else
#define COMITY_UNSANITIZED
#endif

#include <cstddef>
#include <cstdint>

#if defined(COMITY_ASAN)
#define COMITY_KNOWS_STACKS true
#else
#define COMITY_KNOWS_STACKS false // nobody asks for the bounds of a thread's own stack
#endif

namespace comity::core {

// Is the program built with a sanitizer that this library is not told to serve? ThreadSanitizer ends the program here,
// by one line, since it would crash at the first switch; AddressSanitizer gets a line. docs/sanitizers.md
void check_sanitizers() noexcept;

// May a context take over the stack of a transition context (lend_stack)? The sanitizers know a stack by its first
// user.
#if defined(COMITY_TSAN) || defined(COMITY_ASAN)
inline constexpr bool stacks_are_lent = false;
#else
inline constexpr bool stacks_are_lent = true;
#endif

#if defined(COMITY_TSAN)
inline constexpr bool orders_switches = true; // ThreadSanitizer sees the contexts of a carrier as different threads
#else
inline constexpr bool orders_switches = false;
#endif

// The least stack of a bare context: what the sanitizers add to frames fits no small stack.
#if defined(COMITY_TSAN) || defined(COMITY_ASAN)
inline constexpr std::size_t least_bare_stack = std::size_t{32} << 10;
#else
inline constexpr std::size_t least_bare_stack = 0;
#endif

// Memory that Comity uses again by itself: AddressSanitizer reports who touches it while it is forbidden.
// forget_frames: nothing is left on the stack; its shadow is given back instead of filled with zeros, which would make
// it resident.
#if defined(COMITY_ASAN)
inline void forbid_memory(const void *at, std::size_t size) noexcept { __asan_poison_memory_region(at, size); }
inline void allow_memory(const void *at, std::size_t size) noexcept { __asan_unpoison_memory_region(at, size); }
COMITY_SHARED void forget_frames(const std::byte *bottom, const std::byte *top) noexcept;
// Here a large stack begins anew: what stood on it when it was left by a jump, which the sanitizer may have seen while
// it took another stack for the current one, guards nothing any more.
[[gnu::always_inline]] inline void begin_frames() noexcept {
    constexpr std::size_t enough = 16384;
    allow_memory(static_cast<const std::byte *>(__builtin_frame_address(0)) - enough, enough);
}
#else
inline void forbid_memory(const void *, std::size_t) noexcept {}
inline void allow_memory(const void *, std::size_t) noexcept {}
inline void forget_frames(const std::byte *, const std::byte *) noexcept {}
inline void begin_frames() noexcept {}
#endif

#if defined(COMITY_TSAN)

class sanitizer_fiber {
public:
    void create() noexcept { fiber_ = __tsan_create_fiber(0), own_ = true; }
    void adopt_running(const void *, std::size_t) noexcept { fiber_ = __tsan_get_current_fiber(), own_ = false; }
    void destroy() noexcept {
        if (own_ && fiber_) __tsan_destroy_fiber(fiber_);
        fiber_ = nullptr;
    }
    COMITY_UNSANITIZED __attribute__((always_inline)) void enter(const void *, std::size_t) noexcept {
        if (fiber_) __tsan_switch_to_fiber(fiber_, 0);
    }
    void entered() noexcept {}

private:
    void *fiber_ = nullptr;
    bool own_ = false;
};

#elif defined(COMITY_ASAN)

class sanitizer_fiber {
public:
    void create() noexcept {}
    void adopt_running(const void *bottom, std::size_t size) noexcept { bottom_ = bottom, size_ = size; }
    void destroy() noexcept {}
    void enter(const void *bottom, std::size_t size) noexcept {
        if (!size_) bottom_ = bottom, size_ = size;
        __sanitizer_start_switch_fiber(nullptr, bottom_, size_); // no fake stack is kept
    }
    void entered() noexcept { __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr); }

private:
    const void *bottom_ = nullptr;
    std::size_t size_ = 0;
};

#else

struct sanitizer_fiber {
    void create() noexcept {}
    void adopt_running(const void *, std::size_t) noexcept {}
    void destroy() noexcept {}
    void enter(const void *, std::size_t) noexcept {}
    void entered() noexcept {}
};

#endif

} // namespace comity::core
