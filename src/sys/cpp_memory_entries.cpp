// operator new and delete of Comity's libraries, each of which has them to itself: malloc's memory, whatever ones the
// program has. Comity frees its objects itself, and makes those that a scheduler needs in memory of its own. Without
// memory, and where a container would throw, the process ends.
#include "sys/message.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

using comity::sys::fatal;

namespace {

void *allocate(std::size_t size) noexcept { return std::malloc(size ? size : 1); }
void *allocate(std::size_t size, std::align_val_t alignment) noexcept {
    void *memory = nullptr;
    return ::posix_memalign(&memory, static_cast<std::size_t>(alignment), size ? size : 1) == 0 ? memory : nullptr;
}
[[noreturn]] void has_no_memory() noexcept { fatal("operator new", "no memory"); }
void *demand(void *memory) noexcept {
    if (!memory) has_no_memory();
    return memory;
}

} // namespace

void *operator new(std::size_t size) { return demand(allocate(size)); }
void *operator new[](std::size_t size) { return demand(allocate(size)); }
void *operator new(std::size_t size, std::align_val_t a) { return demand(allocate(size, a)); }
void *operator new[](std::size_t size, std::align_val_t a) { return demand(allocate(size, a)); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocate(size); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return allocate(size); }
void *operator new(std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept { return allocate(size, a); }
void *operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t &) noexcept {
    return allocate(size, a);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace std {

const nothrow_t nothrow{};

// What containers would throw.
void __throw_bad_alloc() { has_no_memory(); }
void __throw_bad_array_new_length() { has_no_memory(); }
void __throw_length_error(const char *where) { fatal(where, "too long"); }
void __throw_out_of_range_fmt(const char *what, ...) { fatal("an index", "%s", what); }

} // namespace std

extern "C" void __cxa_throw_bad_array_new_length() { has_no_memory(); }
