#include "requirements.hpp"

#include <cstdio>

#include <gnu/libc-version.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

namespace comity::cli {
namespace {

bool is_older(const char *version, int major, int minor) {
    int have_major = 0;
    int have_minor = 0;
    if (std::sscanf(version, "%d.%d", &have_major, &have_minor) != 2) return false;
    return have_major < major || (have_major == major && have_minor < minor);
}

// A limit below `least` that `ulimit` sets by this option, in such units; or empty.
std::string too_low(const char *what, decltype(RLIMIT_AS) which, char option, std::size_t least, std::size_t unit) {
    rlimit now{};
    if (::getrlimit(which, &now) != 0 || now.rlim_cur >= least) return {};
    return fmt::format("the limit on {} (ulimit -{} {}) leaves no room for Comity, which needs {}", what, option,
                       now.rlim_cur / unit, least / unit);
}

} // namespace

std::string find_system_obstacle() {
    if (is_older(::gnu_get_libc_version(), 2, 31))
        return fmt::format("glibc is {}, and Comity needs 2.31 or later", ::gnu_get_libc_version());
    utsname kernel{};
    if (::uname(&kernel) == 0 && is_older(kernel.release, 5, 4))
        return fmt::format("Linux is {}, and Comity needs 5.4 or later", kernel.release);
    return {};
}

// What a program has left of less memory than this is too little for one thread more, or for the drop-ins themselves.
std::string find_memory_obstacle() {
    constexpr std::size_t kib = 1024, least_space = 32 * 1024 * kib;
    constexpr std::size_t least_stack = 64 * kib; // the dynamic linker's, which loads them
    std::string found = too_low("the address space", RLIMIT_AS, 'v', least_space, kib);
    if (found.empty()) found = too_low("memory", RLIMIT_DATA, 'd', least_space, kib);
    if (found.empty()) found = too_low("the first thread's stack", RLIMIT_STACK, 's', least_stack, kib);
    return found;
}

// Beside the harts' kernel threads: the first thread, those for deadlines and signals, and some that lend their
// storage.
std::string find_thread_obstacle(std::size_t harts) {
    constexpr std::size_t others = 8;
    return ::getuid() == 0 ? std::string() : too_low("kernel threads", RLIMIT_NPROC, 'u', harts + others, 1);
}

} // namespace comity::cli
