// Hints that fetch a cache line another core has written, while this one does something else. Any address; no effect
// but on time.
#pragma once

namespace comity::sys {

inline void fetch_to_read(const void *line) noexcept { __builtin_prefetch(line, 0); }

// Takes the line away from the others at once, where reading first and writing then would ask for it twice.
inline void fetch_to_write(const void *line) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" ::"m"(*static_cast<const char *>(line))); // a no-operation on processors without it
#else
    __builtin_prefetch(line, 1);
#endif
}

} // namespace comity::sys
