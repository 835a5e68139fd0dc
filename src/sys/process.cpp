#include "sys/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include "sys/c_library.hpp"
#include "sys/signals.hpp"

extern "C" __attribute__((visibility("hidden"))) void *__dso_handle;

namespace comity::sys {

static_assert(std::is_same_v<pthread_once_t, int> && PTHREAD_ONCE_INIT == 0);
static_assert(std::is_same_v<pthread_key_t, unsigned>);

namespace {

constinit watched_function<int (*)(int *, void (*)())> own_once{"pthread_once"};
constinit own_function<int (*)(void (*)(), void (*)(), void (*)(), void *)> own_register{"__register_atfork"};
constinit own_function<pid_t (*)()> own_fork{"_Fork"};

[[gnu::constructor]] void find_functions() noexcept {
    own_once.find();
    own_register.find();
    own_fork.find();
}

} // namespace

namespace {
__thread const signals_blocked *outermost_once __attribute__((tls_model("initial-exec"))) = nullptr;
}

void once::run_first(void (*function)()) noexcept {
    const signals_blocked meanwhile;
    const signals_blocked *const outer = std::exchange(outermost_once, outermost_once ? outermost_once : &meanwhile);
    run_with_signals(function);
    outermost_once = outer;
}

void once::run_with_signals(void (*function)()) noexcept {
    const auto f = own_once.find();
    (f ? f : ::pthread_once)(&state_, function);
    is_done_.store(true, std::memory_order_release); // release[once]
}

std::uint64_t mask_around_once() noexcept { return outermost_once ? outermost_once->before() : blocked_signals(); }

const char *environment_value(const char *name) noexcept {
    const std::size_t length = std::strlen(name);
    for (char **entry = ::environ; entry && *entry; ++entry)
        if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
    return nullptr;
}

// A preloaded definition may keep other libraries' handlers back until ours are registered.
bool at_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
    const auto f = own_register.find();
    return (f ? f(before, parent, child, __dso_handle) : ::pthread_atfork(before, parent, child)) == 0;
}

bool in_children(void (*before)(), void (*child)()) noexcept { return pthread_atfork(before, nullptr, child) == 0; }

bool fork_without_handlers(int &child) noexcept {
    const auto f = own_fork.find();
    return f && ((child = f()), true);
}

bool thread_end::create(void (*function)(void *argument)) noexcept {
    made_ = pthread_key_create(&key_, function) == 0;
    return made_;
}

void thread_end::arm(void *argument) const noexcept {
    if (made_) pthread_setspecific(key_, argument);
}

} // namespace comity::sys
