#include "sys/core_demand.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>

#include "sys/cpu_limits.hpp"
#include "sys/errno_kept.hpp"
#include "sys/high_descriptor.hpp"

namespace comity::sys {
namespace {

struct watched {
    int fd = -1;
    unsigned cores = 0;
    dev_t device = 0;
    ino_t file = 0;
};
constinit watched demand;                 // by watch_core_demand, before
constinit std::atomic<bool> is_watched{}; // this is set

bool is_still_ours() noexcept {
    struct stat now {};
    return ::fstat(demand.fd, &now) == 0 && now.st_dev == demand.device && now.st_ino == demand.file;
}

} // namespace

void watch_core_demand() noexcept {
    const errno_kept kept;
    const int low = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/loadavg", O_RDONLY | O_CLOEXEC));
    const int fd = moved_up(low);
    if (fd < 0) return;
    struct stat opened {};
    const unsigned cores = count_online("");
    if (fd == low || cores == 0 || ::fstat(fd, &opened) != 0) return close_raw(fd);
    demand = {fd, cores, opened.st_dev, opened.st_ino};
    is_watched.store(true, std::memory_order_release); // release[core-demand]
}

bool are_cores_short() noexcept {
    if (!is_watched.load(std::memory_order_acquire)) return true; // acquire[core-demand]
    const errno_kept kept;
    if (!is_still_ours()) return true; // the program has closed it, and the number may be that of a file of its own
    char text[128];
    const long length = ::syscall(SYS_pread64, demand.fd, text, sizeof text - 1, 0);
    if (length <= 0) return true;
    text[length] = '\0';
    return are_more_runnable(text, demand.cores);
}

bool are_more_runnable(const char *loadavg, unsigned cores) noexcept {
    const char *at = loadavg;
    for (int averages = 0; at && averages < 3; ++averages) {
        at = std::strchr(at, ' ');
        if (at) ++at;
    }
    char *end = nullptr;
    const unsigned long runnable = at ? std::strtoul(at, &end, 10) : 0;
    return !at || end == at || *end != '/' || runnable > cores;
}

} // namespace comity::sys
