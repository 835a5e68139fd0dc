// Is this built with AddressSanitizer or ThreadSanitizer? Then what those know by their own definitions of the C
// library's functions must not be called past them, and their state in each thread must stay.
#pragma once

namespace comity::sys {

// COMITY_SANITIZED: the file itself is not, but what is around it.
#if defined(COMITY_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

} // namespace comity::sys
