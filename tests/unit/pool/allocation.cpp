// The program's operator new, in a file of its own: a compiler that sees it beside a use complains of new with free.
#include "allocation.hpp"

#include <cstdlib>
#include <new>

bool memory_is_gone = false;
std::size_t allocations = 0;

namespace {
void *allocate(std::size_t size, std::size_t alignment) noexcept {
    ++allocations;
    if (memory_is_gone) return nullptr;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
} // namespace

void *operator new(std::size_t n, const std::nothrow_t &) noexcept { return allocate(n, 16); }
void *operator new[](std::size_t n, const std::nothrow_t &) noexcept { return allocate(n, 16); }
void *operator new(std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
    return allocate(n, static_cast<std::size_t>(a));
}
void *operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
    return allocate(n, static_cast<std::size_t>(a));
}
void *operator new(std::size_t n) {
    if (void *p = allocate(n, 16)) return p;
    throw std::bad_alloc();
}
void *operator new[](std::size_t n) { return operator new(n); }
void *operator new(std::size_t n, std::align_val_t a) {
    if (void *p = allocate(n, static_cast<std::size_t>(a))) return p;
    throw std::bad_alloc();
}
void *operator new[](std::size_t n, std::align_val_t a) { return operator new(n, a); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
