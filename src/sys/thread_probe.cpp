#include "sys/thread_probe.hpp"

#include <cerrno>

#include <pthread.h>
#include <sched.h>

#include "sys/errno_kept.hpp"

namespace comity::sys {
namespace {

constexpr std::uintptr_t largest_descriptor = std::uintptr_t{16}
                                              << 10; // struct pthread takes 2,304 bytes in glibc 2.36

const char *probe_keys() noexcept {
    pthread_key_t key{};
    if (::pthread_key_create(&key, nullptr) != 0) return nullptr; // the program has used them all: nothing can be said
    const bool empty = ::pthread_getspecific(key) == nullptr;
    const bool kept = ::pthread_setspecific(key, &key) == 0 && ::pthread_getspecific(key) == &key;
    ::pthread_setspecific(key, nullptr);
    ::pthread_key_delete(key);
    if (!empty) return "a fresh key has a value";
    return kept ? nullptr : "a key does not keep its value";
}

const char *probe_mutex() noexcept {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    ::pthread_mutex_init(&mutex, &attributes);
    const bool ok = ::pthread_mutex_lock(&mutex) == 0 && ::pthread_mutex_lock(&mutex) == EDEADLK &&
                    ::pthread_mutex_unlock(&mutex) == 0;
    ::pthread_mutex_destroy(&mutex);
    ::pthread_mutexattr_destroy(&attributes);
    return ok ? nullptr : "a mutex does not know its owner";
}

} // namespace

const char *probe_thread(std::uintptr_t base) noexcept {
    const errno_kept kept;
    // glibc's pthread_t is the descriptor's address: the thread pointer itself on x86-64, just below it on aarch64.
    const auto self = static_cast<std::uintptr_t>(::pthread_self());
    const char *wrong = base - self < largest_descriptor ? nullptr : "pthread_self is another thread";
    if (!wrong) wrong = probe_keys();
    if (!wrong) wrong = probe_mutex();
    if (!wrong && ::sched_getcpu() < 0) wrong = "sched_getcpu fails";
    return wrong;
}

} // namespace comity::sys
