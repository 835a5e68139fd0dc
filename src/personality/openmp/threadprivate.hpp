// threadprivate variables for compilers (or options) that do not use the system's thread-local storage for them: every
// thread but the initial one has a copy of its own, made when it first asks for it.
#pragma once

#include <cstddef>

namespace comity::openmp {

// How a variable's copies begin and end. Without `construct` and `copy` a copy begins with the bytes that the variable
// had when a thread first asked for one.
struct threadprivate_functions {
    void *(*construct)(void *) = nullptr;
    void *(*copy)(void *to, void *from) = nullptr;
    void (*destroy)(void *) = nullptr;
    // The same for an array of `length` objects, where that is not 0.
    void *(*construct_all)(void *, std::size_t) = nullptr;
    void *(*copy_all)(void *to, void *from, std::size_t) = nullptr;
    void (*destroy_all)(void *, std::size_t) = nullptr;
    std::size_t length = 0;
};

// Before anybody asked for a copy; later calls, and a second one, have no effect. Any thread; never switches.
void register_threadprivate(void *variable, const threadprivate_functions &functions) noexcept;

// The caller's copy, which lives as long as its thread-local storage. Any thread; never switches unless the functions
// do.
void *threadprivate_copy(void *variable, std::size_t size) noexcept;

} // namespace comity::openmp
