// What the sanitizers must be told of lent TLS. They keep their state of a thread in its TLS, so each donor is a thread
// to them, and they follow a context that runs on it by themselves; what they cannot see is who runs when.
#pragma once

#include "sys/lent_thread.hpp" // COMITY_NEVER_INSTRUMENTED
#include "sys/sanitized.hpp"

#if defined(COMITY_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(COMITY_ASAN)
#include <sanitizer/lsan_interface.h>
#endif

#include <cstddef>

namespace comity::core {

#if defined(COMITY_TSAN) || defined(COMITY_ASAN)
inline constexpr bool tls_sanitized = true; // then only donors will do, and calls need more stack
#else
inline constexpr bool tls_sanitized = false;
#endif

// What the thread did before has happened for whoever is told to acquire the same object later.
[[gnu::always_inline]] inline void tell_release([[maybe_unused]] void *object) noexcept {
#if defined(COMITY_TSAN)
    __tsan_release(object);
#endif
}
[[gnu::always_inline]] inline void tell_acquire([[maybe_unused]] void *object) noexcept {
#if defined(COMITY_TSAN)
    __tsan_acquire(object);
#endif
}

// The leak checker looks no deeper into a stack than its kernel thread's own stack pointer: here it shall.
inline void tell_stack([[maybe_unused]] void *bottom, [[maybe_unused]] std::size_t size) noexcept {
#if defined(COMITY_ASAN)
    __lsan_register_root_region(bottom, size);
#endif
}
inline void untell_stack([[maybe_unused]] void *bottom, [[maybe_unused]] std::size_t size) noexcept {
#if defined(COMITY_ASAN)
    __lsan_unregister_root_region(bottom, size);
#endif
}

} // namespace comity::core
