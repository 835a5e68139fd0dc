// For objects that put functions of their own before a library's: the definition that theirs hides.
#pragma once

#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"

#include <atomic>

#include <dlfcn.h>

// Before the definition of each next_symbol: where find_all_next() finds it, whole: clang would divide it into its
// members.
#define COMITY_NEXT_SYMBOL [[gnu::section("comity_next"), gnu::used]] constinit

namespace comity::sys {

class next_symbol_base {
public:
    // Looks for it unless it was found. Null: no library has it.
    void *look() noexcept {
        void *f = found_.load(std::memory_order_relaxed); // several threads may look at once and find the same
        if (!f) found_.store(f = search(), std::memory_order_relaxed);
        return f;
    }

protected:
    constexpr explicit next_symbol_base(const char *name) noexcept : name_(name) {}
    void *find() noexcept {
        void *f = look();
        if (!f) fatal(name_, "no library has the function that is to be called");
        return f;
    }
    std::atomic<void *> found_{nullptr};

private:
    void *search() const noexcept {
#if __GLIBC_PREREQ(2, 34)
        return dlsym(RTLD_NEXT, name_);
#else // there dlsym itself calls functions that a drop-in replaces, and looks for by it
        return next_definition(name_, this);
#endif
    }
    const char *name_;
};

// The next definition of a symbol after that of the object whose code calls get(). Looked up once; the process ends
// with a message when there is none. Any thread, also before constructors have run.
template <class Function> class next_symbol : public next_symbol_base {
public:
    constexpr explicit next_symbol(const char *name) noexcept : next_symbol_base(name) {}
    Function get() noexcept {
        void *f = found_.load(std::memory_order_relaxed);
        return reinterpret_cast<Function>(f ? f : find());
    }
    // The same, or null if nobody has looked yet.
    Function known() const noexcept { return reinterpret_cast<Function>(found_.load(std::memory_order_relaxed)); }
};

extern "C" {
[[gnu::visibility("hidden")]] extern next_symbol_base first_next_symbol[] __asm__("__start_comity_next");
[[gnu::visibility("hidden")]] extern next_symbol_base end_of_next_symbols[] __asm__("__stop_comity_next");
}

// Looks for all of this object's. To be called by its constructor: later one of Comity's threads may need a symbol
// while the program's main thread, in a constructor that dlopen runs, holds the dynamic linker's lock and waits for
// that thread.
inline void find_all_next() noexcept {
    for (next_symbol_base *s = first_next_symbol; s != end_of_next_symbols; ++s) s->look();
}

} // namespace comity::sys
