#include "sys/c_library.hpp"

#include <cerrno>

#include <dlfcn.h>
#include <sys/auxv.h>

namespace comity::sys {

void *find_symbol(const char *name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

unsigned long auxiliary_value(unsigned long type) noexcept {
    const int kept = errno;
    const unsigned long value = ::getauxval(type);
    errno = kept;
    return value;
}

} // namespace comity::sys
