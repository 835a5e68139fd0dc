#include "sys/process.hpp"

#include <pthread.h>

#include <atomic>
#include <type_traits>

#include "sys/c_library.hpp"

namespace comity::sys {

static_assert(std::is_same_v<pthread_once_t, int> && PTHREAD_ONCE_INIT == 0);
static_assert(std::is_same_v<pthread_key_t, unsigned>);

// Not a preloaded one, which may be Comity's own and need what this makes. Looked up without a guard, which the child
// of a fork in the middle would find taken; several threads may look at once and find the same.
void once::run(void (*function)()) noexcept {
    using once_function = int (*)(int *, void (*)());
    static constinit std::atomic<once_function> found{nullptr};
    once_function f = found.load(std::memory_order_relaxed);
    if (!f) {
        f = reinterpret_cast<once_function>(find_in_c_library("pthread_once"));
        if (!f) f = ::pthread_once;
        found.store(f, std::memory_order_relaxed);
    }
    f(&state_, function);
}

bool at_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
    return pthread_atfork(before, parent, child) == 0;
}

bool thread_end::create(void (*function)(void *argument)) noexcept {
    made_ = pthread_key_create(&key_, function) == 0;
    return made_;
}

void thread_end::arm(void *argument) const noexcept {
    if (made_) pthread_setspecific(key_, argument);
}

} // namespace comity::sys
