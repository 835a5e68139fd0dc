// For objects that put functions of their own before a library's: the definition that theirs hides.
#pragma once

#include "sys/message.hpp"

#include <atomic>

#include <dlfcn.h>

namespace comity::sys {

// The next definition of a symbol after that of the object whose code calls get(). Looked up once; the process ends
// with a message when there is none. Any thread, also before constructors have run.
template <class Function> class next_symbol {
public:
    constexpr explicit next_symbol(const char *name) noexcept : name_(name) {}
    Function get() noexcept {
        Function f = found_.load(std::memory_order_relaxed); // several threads may look at once and find the same
        if (f) return f;
        f = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
        if (!f) fatal(name_, "no library has the function that is to be called");
        found_.store(f, std::memory_order_relaxed);
        return f;
    }

private:
    const char *name_;
    std::atomic<Function> found_{nullptr};
};

} // namespace comity::sys
