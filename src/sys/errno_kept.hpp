// errno as it was when the object was made comes back at its end.
#pragma once

#include <cerrno>

namespace comity::sys {

class errno_kept {
public:
    errno_kept() noexcept : kept_(errno) {}
    ~errno_kept() { errno = kept_; }

private:
    int kept_;
};

} // namespace comity::sys
