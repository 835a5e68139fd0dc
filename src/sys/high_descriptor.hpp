// Descriptors of Comity's own under high numbers, so that what the program opens gets the numbers that it would get
// without them. By raw system calls, past every drop-in; errno is not kept.
#pragma once

#include <algorithm>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::sys {

inline void close_raw(int fd) noexcept { ::syscall(SYS_close, fd); }

// A copy under a high number; -1 where there is none.
inline int high_copy(int fd) noexcept {
    constexpr rlim_t high = 960, room = 64;
    rlimit limit{};
    if (fd < 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 2 * room) return -1;
    return static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, std::min(high, limit.rlim_cur - room)));
}

// The same descriptor under a high number; as it is where there is none.
inline int moved_up(int fd) noexcept {
    const int moved = high_copy(fd);
    if (moved < 0) return fd;
    close_raw(fd);
    return moved;
}

} // namespace comity::sys
