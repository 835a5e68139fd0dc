// What the C library and the kernel tell a process without a header for it. Any thread, not in a signal handler;
// nothing switches.
#pragma once

#include "sys/shared.hpp"

#include <atomic>

namespace comity::sys {

// The address of a symbol of any loaded library, private ones of the C library included; nullptr when there is none.
// A thread-local symbol gives its address in the calling thread.
COMITY_SHARED void *find_symbol(const char *name) noexcept;

// The C library's own definition of a function, whatever was put before it; nullptr when it has none. A preloaded
// object that needs Comity comes before the C library in every search, and Comity mostly after it.
COMITY_SHARED void *find_in_c_library(const char *name) noexcept;

// The same for a function whose calls a sanitizer must see: its definition, which comes after a preloaded object's.
void *find_watched(const char *name) noexcept;

// Such a function, which a constructor of whoever uses it asks for first. Later the caller might stand on a small
// stack, which the dynamic linker would overflow, or the holder of that one's lock might wait for him. Looked up
// without a guard, which the child of a fork in the middle would find taken; who comes at the same time finds the same.
template <class F, void *(*find_by_name)(const char *) noexcept = find_in_c_library> class own_function {
public:
    constexpr explicit own_function(const char *name) noexcept : name_{name} {}
    F find() noexcept {
        F f = found_.load(std::memory_order_relaxed);
        if (!f) found_.store(f = reinterpret_cast<F>(find_by_name(name_)), std::memory_order_relaxed);
        return f;
    }

private:
    const char *name_;
    std::atomic<F> found_{nullptr};
};
template <class F> using watched_function = own_function<F, find_watched>;

// Loads a library and what it needs, and its symbols' addresses; nullptr: `error` says why, until the thread's next
// call of these. The library's constructors run.
COMITY_SHARED void *open_library(const char *path, const char *&error) noexcept;
COMITY_SHARED void *symbol_in(void *library, const char *name, const char *&error) noexcept;

// The processor that the caller runs on at this moment; -1: the kernel does not say.
COMITY_SHARED int current_cpu() noexcept;

// An entry of the auxiliary vector (AT_...); 0 when the kernel gave none. Also in signal handlers.
unsigned long auxiliary_value(unsigned long type) noexcept;

} // namespace comity::sys
