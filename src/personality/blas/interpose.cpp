// What this preload object puts before the C library: each function does what the original does, and a little more for
// callers inside an OpenBLAS. They may be called before any constructor has run, by every library of the process.
#include "personality/blas/openblas.hpp"
#include "sys/next_symbol.hpp"

#include <cstdlib>
#include <cstring>

#include <pthread.h>

#define COMITY_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

COMITY_NEXT_SYMBOL comity::sys::next_symbol<int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)>
    next_create{"pthread_create"};
COMITY_NEXT_SYMBOL comity::sys::next_symbol<char *(*)(const char *)> next_getenv{"getenv"};

// An OpenBLAS whose jobs run on Comity wakes its own threads only for the factorisation of getrf; between its steps
// they may spin for some 30 us, 2^16 ticks, where OpenBLAS' own default is 25 to 100 ms.
constexpr const char *timeout_variable = "OPENBLAS_THREAD_TIMEOUT";
char short_timeout[] = "16";

__attribute__((constructor)) void find_all_next() noexcept { comity::sys::find_all_next(); }

} // namespace

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones
COMITY_INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                                     void *argument) noexcept {
    comity::blas::openblas::thread_is_made(__builtin_return_address(0), argument);
    return next_create.get()(thread, attributes, function, argument);
}

COMITY_INTERPOSED char *getenv(const char *name) noexcept {
    char *value = next_getenv.get()(name);
    if (!value && name[0] == 'O' && std::strcmp(name, timeout_variable) == 0 &&
        comity::blas::openblas::can_serve(__builtin_return_address(0)))
        value = short_timeout;
    return value;
}
