// errno as it was when the object was made comes back at its end.
#pragma once

#include <cerrno>

namespace comity::sys {

// Bare contexts on one kernel thread share its errno; ThreadSanitizer takes them for threads.
#if defined(__clang__)
#define COMITY_ON_SHARED_ERRNO __attribute__((no_sanitize("thread")))
#else
#define COMITY_ON_SHARED_ERRNO
#endif

class errno_kept {
public:
    COMITY_ON_SHARED_ERRNO errno_kept() noexcept : kept_(errno) {}
    COMITY_ON_SHARED_ERRNO ~errno_kept() { errno = kept_; }

private:
    int kept_;
};

#undef COMITY_ON_SHARED_ERRNO

} // namespace comity::sys
