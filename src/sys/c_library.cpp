#include "sys/c_library.hpp"

#include <cerrno>

#include <dlfcn.h>
#include <sched.h>
#include <sys/auxv.h>

namespace comity::sys {

void *find_symbol(const char *name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

void *open_library(const char *path, const char *&error) noexcept {
    void *library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) error = ::dlerror();
    return library;
}

void *symbol_in(void *library, const char *name, const char *&error) noexcept {
    void *symbol = ::dlsym(library, name);
    if (!symbol) error = ::dlerror();
    return symbol;
}

int current_cpu() noexcept { return ::sched_getcpu(); }

unsigned long auxiliary_value(unsigned long type) noexcept {
    const int kept = errno;
    const unsigned long value = ::getauxval(type);
    errno = kept;
    return value;
}

} // namespace comity::sys
