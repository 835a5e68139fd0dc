// What of the C library's private thread descriptor a block of our own must have set, found at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace comity::core {

// Offsets are from the thread pointer, and negative on aarch64, whose descriptor lies below it.
struct glibc_layout {
    void *(*allocate_tls)(void *) = nullptr;        // _dl_allocate_tls
    void (*deallocate_tls)(void *, bool) = nullptr; // _dl_deallocate_tls
    void (*ctype_init)() = nullptr;                 // __ctype_init: tables of isalpha and its like
    void (*call_tls_destructors)() = nullptr;       // __call_tls_dtors
    std::ptrdiff_t descriptor = 0;                  // struct pthread
    std::ptrdiff_t tid = 0;                         // int: the owner that a locked mutex names
    std::ptrdiff_t cancelhandling = 0;              // int: 0x40: its setuid is about to signal the thread
    std::ptrdiff_t robust_previous = 0; // void *, then the head of the list of robust mutexes {next, offset, pending}
    std::ptrdiff_t specific = 0;        // void *[32]: tables of pthread_getspecific; the first is in the descriptor
    std::ptrdiff_t first_specific = 0;  //   itself, here
    std::ptrdiff_t list = 0;            // {next, previous}: the node in the library's list of threads
    std::ptrdiff_t stack = 0;           // {address, size}, for pthread_getattr_np
    std::ptrdiff_t resolver = 0;        // void *: the variable __resp of the resolver; 0: none
    std::ptrdiff_t sequences = 0;       // struct rseq; 0: none
};

// nullptr when something was not found or is not where it should be: then there are no glibc blocks. The first call
// looks, on a thread that it makes for that; others wait for it.
const glibc_layout *find_glibc_layout() noexcept;

// A field at an offset from the thread pointer `base`.
template <class T> T &field_at(std::uintptr_t base, std::ptrdiff_t offset) noexcept {
    return *reinterpret_cast<T *>(base + static_cast<std::uintptr_t>(offset));
}

} // namespace comity::core
