// Allocators. There is one kind of memory, the host's; what an allocator's traits can mean then is alignment, a limit
// to its size, and what happens when there is no more. Any thread; nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace comity::openmp {

// LLVM's library of devices has called: it may have been loaded since somebody looked for it. Any thread.
void devices_are_there() noexcept;

// As omp_allocator_handle_t. Predefined allocators are small numbers; 0: the task's default one.
using allocator_handle = std::uintptr_t;
inline constexpr allocator_handle default_mem_alloc = 1, large_cap_mem_alloc = 2, const_mem_alloc = 3,
                                  high_bw_mem_alloc = 4, low_lat_mem_alloc = 5, cgroup_mem_alloc = 6,
                                  pteam_mem_alloc = 7, thread_mem_alloc = 8;

struct allocator_trait { // as omp_alloctrait_t
    int key;
    std::uintptr_t value;
};

// OMP_ALLOCATOR, once, when the library is loaded.
void read_allocator() noexcept;

bool is_memory_space(std::uintptr_t space) noexcept;
allocator_handle allocator_of_space(std::uintptr_t space) noexcept; // the predefined one

// 0 if a trait or the space is not allowed, or there is no memory.
allocator_handle make_allocator(std::uintptr_t space, int count, const allocator_trait *traits) noexcept;
void free_allocator(allocator_handle handle) noexcept;

// Null if there is no memory and the allocator says so. `alignment` is a power of two.
void *allocate(std::size_t alignment, std::size_t size, allocator_handle handle) noexcept;
void *allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t size, allocator_handle handle) noexcept;
void *reallocate(void *block, std::size_t size, allocator_handle to, allocator_handle from) noexcept;
void release(void *block) noexcept; // what these gave

} // namespace comity::openmp
