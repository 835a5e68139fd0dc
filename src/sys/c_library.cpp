#include "sys/c_library.hpp"

#include <cerrno>
#include <initializer_list>

#include <dlfcn.h>
#include <sched.h>
#include <sys/auxv.h>

namespace comity::sys {

void *find_symbol(const char *name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

void *find_in_c_library(const char *name) noexcept {
    // Before glibc 2.34 threads had a library of their own.
    for (const char *library : {"libpthread.so.0", "libc.so.6"}) {
        void *handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
        void *found = handle ? ::dlsym(handle, name) : nullptr;
        if (handle) ::dlclose(handle); // it stays: the process was linked with it
        if (found) return found;
    }
    return nullptr;
}

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
