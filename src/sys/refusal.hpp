// What a sandbox's filter answers in place of a system call that it does not let through. For a call of Comity's own
// the caller has another way then, and says nothing.
#pragma once

#include <cerrno>

namespace comity::sys {

// A call for which the kernel itself has none of these errors, or has them where the other way says the same.
inline bool is_refusal(int error) noexcept {
    return error == EPERM || error == EACCES || error == ENOSYS || error == EOPNOTSUPP;
}

} // namespace comity::sys
