#include "sys/kernel_thread.hpp"

#include <cerrno>
#include <ctime>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/signals.hpp"

namespace comity::sys {
namespace {

using create_function = int (*)(pthread_t *, const pthread_attr_t *, thread_function, void *);

// The C library's pthread_create, past every preloaded one. Under a sanitizer its interceptor must see the thread.
create_function real_create() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return ::pthread_create;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return ::pthread_create;
#endif
#endif
    static const auto found = reinterpret_cast<create_function>(::dlsym(RTLD_NEXT, "pthread_create"));
    return found ? found : ::pthread_create;
}

std::size_t usable_stack_size(std::size_t wanted) noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto least = static_cast<std::size_t>(::sysconf(_SC_THREAD_STACK_MIN));
    const std::size_t size = wanted > least ? wanted : least;
    return (size + page - 1) / page * page;
}

} // namespace

int start_kernel_thread(thread_function function, void *argument, std::size_t stack_size) noexcept {
    pthread_attr_t attributes;
    if (const int error = ::pthread_attr_init(&attributes)) return error;
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = stack_size ? ::pthread_attr_setstacksize(&attributes, usable_stack_size(stack_size)) : 0;
    if (error == 0) {
        // Signals stay blocked from before the first instruction of the thread; a thread inherits its creator's mask.
        const signals_blocked blocked;
        pthread_t thread{};
        error = real_create()(&thread, &attributes, function, argument);
    }
    ::pthread_attr_destroy(&attributes);
    return error;
}

void name_kernel_thread(const char *name) noexcept {
    const int kept = errno;
    ::prctl(PR_SET_NAME, name, 0, 0, 0); // the kernel cuts it
    errno = kept;
}

int kernel_thread_id() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

std::int64_t thread_cpu_ns(int id) noexcept {
    // The kernel's numbering of CPU clocks: the id's complement, shifted by 3; 4 marks a thread's, 2 its scheduled
    // time.
    const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(id) << 3) | 6U);
    const int kept = errno;
    timespec t{};
    const bool failed = ::clock_gettime(clock, &t) != 0;
    errno = kept;
    return failed ? -1 : t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void yield_kernel_thread() noexcept { ::syscall(SYS_sched_yield); }

} // namespace comity::sys
