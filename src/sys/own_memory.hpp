// Memory for Comity's own objects, from the kernel and never from malloc. An allocator may wait for its locks, and
// these may be mutexes that Comity serves (`comity run --posix`); who allocates here may hold a scheduler's lock or a
// hart's lists, where nothing may wait. Any thread, not in a signal handler; nothing switches; errno is kept.
#pragma once

#include "sys/shared.hpp"

#include <cstddef>
#include <new>

namespace comity::sys {

// At a multiple of 64; not zeroed. nullptr when the kernel gives none.
COMITY_SHARED void *allocate_own(std::size_t size) noexcept;
// What allocate_own gave for this size. nullptr: nothing.
COMITY_SHARED void free_own(void *memory, std::size_t size) noexcept;

// The same by whole pages, zeroed; a page takes no physical memory before it is touched. It cannot be given back.
COMITY_SHARED void *allocate_own_pages(std::size_t size) noexcept;

// Around a fork, in both processes: when nobody else of Comity's takes memory.
void own_memory_before_fork() noexcept;
void own_memory_after_fork() noexcept;

// For tests: asked before each allocation; if it says false, the kernel gives none. nullptr: nobody is asked.
void ask_before_own_memory(bool (*gives)() noexcept) noexcept;

// A base of classes whose objects lie in such memory: new (std::nothrow), and arrays of them.
struct in_own_memory {
    static void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocate_own(size); }
    static void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return allocate_own(size); }
    static void *operator new(std::size_t, void *at) noexcept { return at; }
    static void operator delete(void *memory, std::size_t size) noexcept { free_own(memory, size); }
    static void operator delete[](void *memory, std::size_t size) noexcept { free_own(memory, size); }
};

} // namespace comity::sys
