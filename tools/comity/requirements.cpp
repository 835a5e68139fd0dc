#include "requirements.hpp"

#include <cstdio>

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <fmt/format.h>

namespace comity::cli {
namespace {

bool is_older(const char *version, int major, int minor) {
    int have_major = 0;
    int have_minor = 0;
    if (std::sscanf(version, "%d.%d", &have_major, &have_minor) != 2) return false;
    return have_major < major || (have_major == major && have_minor < minor);
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

} // namespace comity::cli
