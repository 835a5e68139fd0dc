// Is this built with AddressSanitizer (COMITY_ASAN) or ThreadSanitizer (COMITY_TSAN)? Then what those know by their own
// definitions of the C library's functions must not be called past them, and their state in each thread must stay.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define COMITY_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define COMITY_ASAN 1
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && !defined(COMITY_TSAN)
#define COMITY_TSAN 1
#endif
#if __has_feature(address_sanitizer) && !defined(COMITY_ASAN)
#define COMITY_ASAN 1
#endif
#endif

namespace comity::sys {

// COMITY_SANITIZED: the file itself is not, but what is around it.
#if defined(COMITY_SANITIZED) || defined(COMITY_ASAN) || defined(COMITY_TSAN)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

} // namespace comity::sys
