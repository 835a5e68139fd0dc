#include "sys/core_demand.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "sys/clock.hpp"
#include "sys/cpu_limits.hpp"
#include "sys/errno_kept.hpp"
#include "sys/high_descriptor.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/options.hpp"
#include "sys/text_file.hpp"

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

// The last answer: when it was read (now_ns), and in the lowest bit what it was. One thread reads at a time, since the
// kernel has them queue at the file; the others go by the answer before, if it is not old.
constexpr std::int64_t valid_ns = 100'000;
constinit std::atomic<std::int64_t> answer{1};
constinit std::atomic<bool> is_read{};

// By raw calls: a library that stands in front of the C library's may take its time.
bool is_still_ours() noexcept {
    struct stat now {};
    return ::syscall(SYS_fstat, demand.fd, &now) == 0 && now.st_dev == demand.device && now.st_ino == demand.file;
}

std::int64_t runnable_in(const char *loadavg) noexcept {
    const char *at = loadavg;
    for (int averages = 0; at && averages < 3; ++averages)
        if ((at = std::strchr(at, ' '))) ++at;
    std::int64_t runnable = 0;
    const bool is_told = at && read_number(at, runnable, &at) && *at == '/' && runnable > 0; // who reads is one of them
    return is_told ? runnable : 0;
}

bool are_too_many(std::int64_t runnable, unsigned cores) noexcept { return runnable == 0 || runnable > cores; }

// How many threads are runnable; 0: it cannot be told.
std::int64_t read_demand() noexcept {
    const errno_kept kept;
    if (!is_still_ours()) return 0; // the program has closed it, and the number may be that of a file of its own
    char text[128];
    const long length = ::syscall(SYS_pread64, demand.fd, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = '\0';
    return runnable_in(text);
}

// How many were runnable lately, in 256ths; written by who reads. It takes several looks to change it much, however far
// they are apart, since a thread may just have been woken for a moment.
constinit std::atomic<std::int64_t> usual{0};
void note_usual(std::int64_t runnable, std::int64_t since_last_ns) noexcept {
    constexpr std::int64_t forgotten_ns = 50'000'000, horizon_ns = 2'000'000, most = 64;
    const std::int64_t before = since_last_ns > forgotten_ns ? 0 : usual.load(std::memory_order_relaxed);
    const std::int64_t weight = std::min(std::min(since_last_ns, horizon_ns) * 256 / horizon_ns, most);
    usual.store(before + (runnable * 256 - before) * weight / 256, std::memory_order_relaxed);
}

} // namespace

void watch_core_demand() noexcept {
    const errno_kept kept;
    const cpu_limits &limits = get_cpu_limits(); // its affinity may have changed since
    const bool has_all =
        limits.online != 0 && limits.quota_thousandths == 0 && count_affinity(process_id()) >= limits.online;
    if (!has_all) return;
    const int low = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/loadavg", O_RDONLY | O_CLOEXEC));
    const int fd = moved_up(low);
    if (fd < 0) return;
    struct stat opened {};
    struct statfs system {};
    const bool is_kernels = ::fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    if (fd == low || !is_kernels || ::syscall(SYS_fstat, fd, &opened) != 0) return close_raw(fd);
    demand = {fd, limits.online, opened.st_dev, opened.st_ino};
    is_watched.store(true, std::memory_order_release); // release[core-demand]
}

bool are_cores_short() noexcept {
    if (!is_watched.load(std::memory_order_acquire)) return true; // acquire[core-demand]
    const std::int64_t last = answer.load(std::memory_order_relaxed), now = now_ns() & ~std::int64_t{1};
    if (now - last < valid_ns) return last & 1;
    if (is_read.exchange(true, std::memory_order_acquire)) // acquire[core-demand-read]
        return (last & 1) || now - last > 100 * valid_ns;  // the parent's, in the child of a fork: for ever
    const std::int64_t runnable = read_demand();
    note_usual(runnable, now - last);
    const bool is_short = are_too_many(runnable, demand.cores);
    answer.store(now | is_short, std::memory_order_relaxed);
    is_read.store(false, std::memory_order_release); // release[core-demand-read]
    return is_short;
}

unsigned cores_missing_lately() noexcept {
    constexpr std::int64_t nearly_one = 192;                   // counts as one
    if (!is_watched.load(std::memory_order_acquire)) return 0; // acquire[core-demand]
    (void)are_cores_short();
    const std::int64_t too_many = usual.load(std::memory_order_relaxed) - std::int64_t{demand.cores} * 256;
    if (too_many <= nearly_one || now_ns() - answer.load(std::memory_order_relaxed) >= 100 * valid_ns)
        return 0; // in the latter case nobody has looked since
    return static_cast<unsigned>((too_many + 256 - nearly_one) / 256);
}

bool are_more_runnable(const char *loadavg, unsigned cores) noexcept {
    return are_too_many(runnable_in(loadavg), cores);
}

} // namespace comity::sys
