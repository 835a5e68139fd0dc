// Keys. Values stay the C library's, in the descriptor of each thread's own TLS; but who ends is no thread to it, so
// its destructors are called here.
#include "personality/pthread/threads/thread.hpp"
#include "sys/sanitized.hpp"

#include <climits>

namespace comity::posix {

namespace {

using destructor = void (*)(void *);
COMITY_NEXT_SYMBOL next<int (*)(pthread_key_t *, destructor)> next_create{"pthread_key_create"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_key_t)> next_delete{"pthread_key_delete"};
constexpr unsigned most_keys = PTHREAD_KEYS_MAX;

std::atomic<destructor> destructors[most_keys]; // null: none
std::atomic<unsigned> keys_so_far{0};           // all keys ever made are below
unsigned first_key = 0;                         // a sanitizer's is the first: the thread that it knows does not end

} // namespace

void end_keys() noexcept {
    const unsigned n = keys_so_far.load(std::memory_order_acquire); // acquire[posix-keys]
    bool again = n != 0;
    for (unsigned round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && again; ++round) {
        again = false;
        for (unsigned key = first_key; key < n; ++key) {
            void *value = pthread_getspecific(key);
            if (!value) continue;
            pthread_setspecific(key, nullptr);
            const destructor d = destructors[key].load(std::memory_order_relaxed);
            if (!d) continue;
            d(value);
            again = true;
        }
    }
    for (unsigned key = first_key; key < n && again; ++key)
        if (pthread_getspecific(key)) pthread_setspecific(key, nullptr); // the next thread here shall not find it
}

} // namespace comity::posix

using namespace comity::posix;

COMITY_INTERPOSED int pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) noexcept {
    if (const int error = next_create.get()(key, destroy)) return error;
    destructors[*key].store(destroy, std::memory_order_relaxed);
    unsigned n = keys_so_far.load(std::memory_order_relaxed);
    if (comity::sys::sanitized && n == 0) first_key = *key + 1;
    while (n <= *key &&
           !keys_so_far.compare_exchange_weak(n, *key + 1, std::memory_order_release, // release[posix-keys]
                                              std::memory_order_relaxed)) {
    }
    return 0;
}
COMITY_INTERPOSED int pthread_key_delete(pthread_key_t key) noexcept {
    if (key < most_keys) destructors[key].store(nullptr, std::memory_order_relaxed);
    return next_delete.get()(key);
}

COMITY_ALSO_NAMED(__pthread_key_create, pthread_key_create);
