#include "sys/c_library.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/auxv.h>

#include "sys/errno_kept.hpp"
#include "sys/message.hpp"
#include "sys/sanitized.hpp"

namespace comity::sys {

namespace {

void *find_in_loaded(const char *library, const char *name) noexcept {
    void *handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle ? ::dlsym(handle, name) : nullptr;
    if (handle) ::dlclose(handle); // it stays: the process was linked with it
    return found;
}

} // namespace

void *find_symbol(const char *name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

void *find_in_c_library(const char *name) noexcept {
    // Before glibc 2.34 threads had a library of their own. To ask for it where it is not loaded takes a search of all
    // folders, and Comity asks at the start of each process.
    void *found = nullptr;
    if (!find_in_loaded("libc.so.6", "pthread_create")) found = find_in_loaded("libpthread.so.0", name);
    return found ? found : find_in_loaded("libc.so.6", name);
}

void *find_watched(const char *name) noexcept {
    if (!sanitized) return find_in_c_library(name);
    char watched[64];
    format_text(watched, sizeof watched, "__interceptor_%s", name);
    void *found = find_symbol(watched);
    return found ? found : find_in_c_library(name);
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
    const errno_kept kept;
    return ::getauxval(type);
}

} // namespace comity::sys
