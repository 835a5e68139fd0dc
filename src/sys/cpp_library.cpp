#include "sys/cpp_library.hpp"

#include "sys/errno_kept.hpp"
#include "sys/message.hpp"
#include "sys/own_memory.hpp"
#include "sys/thread_locals.hpp"

#include <atomic>
#include <new>

#include <dlfcn.h>

// The C++ library's, if the process was linked with it.
extern "C" [[gnu::weak]] void *__cxa_get_globals_fast(); // NOLINT(bugprone-reserved-identifier)

namespace comity::sys {

namespace {

[[noreturn]] void is_missing() {
    fatal("the C++ library", "libstdc++.so.6 could not be loaded, and a C++ exception reaches Comity");
}

thread_local void *no_globals[2]; // __cxa_eh_globals of the Itanium C++ ABI

// A library for as long as the process, or no one.
struct library {
    bool is_there;
    void *handle;
};
library load(const char *name) noexcept {
    void *handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    return {handle != nullptr, handle};
}
// Where the process has it from its beginning, nothing is loaded: the child of a fork in the middle of another thread's
// dlopen could not.
library load_cpp() noexcept { return &__cxa_get_globals_fast ? library{true, RTLD_DEFAULT} : load("libstdc++.so.6"); }

// The process' own, if it is linked with one (libunwind), comes first for the C++ library's functions, too. Frames of
// one mean nothing to the other.
library load_unwinder(const library &cpp) noexcept {
    if (::dlsym(RTLD_DEFAULT, "_Unwind_RaiseException")) return {true, RTLD_DEFAULT};
    return cpp.is_there ? cpp : load("libgcc_s.so.1"); // which the first needs
}

template <class F> void look(const library &in, const char *name, F &f) noexcept {
    void *found = in.is_there ? ::dlsym(in.handle, name) : nullptr;
    f = found ? reinterpret_cast<F>(found) : reinterpret_cast<F>(&is_missing);
}

void look_for_all(cpp_library &l) noexcept {
    const library cpp = load_cpp();
    look(cpp, "__cxa_get_globals", l.get_globals);
    look(cpp, "__cxa_begin_catch", l.begin_catch);
    look(cpp, "__cxa_end_catch", l.end_catch);
    look(cpp, "_ZSt9terminatev", l.terminate);
    look(cpp, "__gxx_personality_v0", l.personality);
    l.is_there = cpp.is_there;
    if (!cpp.is_there) {
        l.get_globals = []() -> void * { return no_globals; };
        // A thread that ends is unwound all the same.
        l.personality = [](auto...) { return _URC_CONTINUE_UNWIND; };
    }

    const library unwinder = load_unwinder(cpp);
    look(unwinder, "_Unwind_RaiseException", l.raise);
    look(unwinder, "_Unwind_Resume", l.resume);
    look(unwinder, "_Unwind_ForcedUnwind", l.unwind);
    look(unwinder, "_Unwind_Backtrace", l.backtrace);
    look(unwinder, "_Unwind_GetCFA", l.frame_of);
    look(unwinder, "_Unwind_GetIP", l.code_of);
}

constinit std::atomic<const cpp_library *> found{nullptr};

// Several threads may look at once: whoever waited here for another one might hold the dynamic linker's lock, which
// that one waits for.
[[gnu::noinline, gnu::cold]] const cpp_library &find() noexcept {
    const errno_kept kept;
    void *memory = allocate_own(sizeof(cpp_library));
    if (!memory) fatal("the C++ library", "no memory");
    auto *l = new (memory) cpp_library;
    look_for_all(*l);
    note_own_libraries();
    const cpp_library *first = nullptr;
    if (!found.compare_exchange_strong(first, l, std::memory_order_acq_rel)) { // acq_rel[cpp-library]
        free_own(memory, sizeof(cpp_library));
        l = nullptr;
    }
    return l ? *l : *first;
}

} // namespace

const cpp_library &get_cpp_library() noexcept {
    const cpp_library *l = found.load(std::memory_order_acquire); // acquire[cpp-library]
    return l ? *l : find();
}

void *find_in_cpp_library(const char *name) noexcept {
    const library cpp = load_cpp();
    return cpp.is_there ? ::dlsym(cpp.handle, name) : nullptr;
}

} // namespace comity::sys
