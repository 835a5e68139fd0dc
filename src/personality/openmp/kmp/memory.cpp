// What allocate clauses compile to, and Intel's memory functions.
#include "personality/openmp/memory.hpp"

#include <cstdlib>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/thread.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;
using std::size_t;

COMITY_KMP void *__kmpc_alloc(i32, size_t size, allocator_handle from) noexcept { return allocate(1, size, from); }
COMITY_KMP void *__kmpc_aligned_alloc(i32, size_t alignment, size_t size, allocator_handle from) noexcept {
    return allocate(alignment ? alignment : 1, size, from);
}
COMITY_KMP void *__kmpc_calloc(i32, size_t count, size_t size, allocator_handle from) noexcept {
    return allocate_zeroed(1, count, size, from);
}
COMITY_KMP void *__kmpc_realloc(i32, void *block, size_t size, allocator_handle to, allocator_handle from) noexcept {
    return reallocate(block, size, to, from);
}
COMITY_KMP void __kmpc_free(i32, void *block, allocator_handle) noexcept { release(block); }

COMITY_KMP allocator_handle __kmpc_init_allocator(i32, std::uintptr_t space, int count,
                                                  const allocator_trait *traits) noexcept {
    return make_allocator(space, count, traits);
}
COMITY_KMP void __kmpc_destroy_allocator(i32, allocator_handle handle) noexcept { free_allocator(handle); }
COMITY_KMP void __kmpc_set_default_allocator(i32, allocator_handle handle) noexcept {
    own_icv().allocator = handle ? handle : default_mem_alloc;
}
COMITY_KMP allocator_handle __kmpc_get_default_allocator(i32) noexcept { return icv_of(self).allocator; }

// The C library's are as good for any thread.
#define KMP_MEMORY(PREFIX, SUFFIX)                                                                                     \
    COMITY_KMP void *PREFIX##malloc##SUFFIX(size_t size) noexcept { return std::malloc(size); }                        \
    COMITY_KMP void *PREFIX##calloc##SUFFIX(size_t count, size_t size) noexcept { return std::calloc(count, size); }   \
    COMITY_KMP void *PREFIX##realloc##SUFFIX(void *block, size_t size) noexcept { return std::realloc(block, size); }  \
    COMITY_KMP void *PREFIX##aligned_malloc##SUFFIX(size_t size, size_t alignment) noexcept {                          \
        void *block = nullptr;                                                                                         \
        const size_t wanted = alignment < sizeof(void *) ? sizeof(void *) : alignment;                                 \
        return ::posix_memalign(&block, wanted, size) ? nullptr : block;                                               \
    }                                                                                                                  \
    COMITY_KMP void PREFIX##free##SUFFIX(void *block) noexcept { std::free(block); }
KMP_MEMORY(kmp_, )
KMP_MEMORY(kmpc_, )

// Fortran's, by reference.
COMITY_KMP void *kmp_malloc_(const size_t *size) noexcept { return std::malloc(*size); }
COMITY_KMP void *kmp_calloc_(const size_t *count, const size_t *size) noexcept { return std::calloc(*count, *size); }
COMITY_KMP void *kmp_realloc_(void *const *block, const size_t *size) noexcept { return std::realloc(*block, *size); }
COMITY_KMP void *kmp_aligned_malloc_(const size_t *size, const size_t *alignment) noexcept {
    return kmp_aligned_malloc(*size, *alignment);
}
COMITY_KMP void kmp_free_(void *const *block) noexcept { std::free(*block); }

// The allocators' names as variables, for compilers that cannot have them as constants.
#define HANDLE(NAME, VALUE) COMITY_KMP const std::uintptr_t NAME = VALUE;
HANDLE(omp_null_allocator, 0)
HANDLE(omp_default_mem_alloc, default_mem_alloc)
HANDLE(omp_large_cap_mem_alloc, large_cap_mem_alloc)
HANDLE(omp_const_mem_alloc, const_mem_alloc)
HANDLE(omp_high_bw_mem_alloc, high_bw_mem_alloc)
HANDLE(omp_low_lat_mem_alloc, low_lat_mem_alloc)
HANDLE(omp_cgroup_mem_alloc, cgroup_mem_alloc)
HANDLE(omp_pteam_mem_alloc, pteam_mem_alloc)
HANDLE(omp_thread_mem_alloc, thread_mem_alloc)
HANDLE(kmp_max_mem_alloc, 1024)
HANDLE(omp_default_mem_space, 0)
HANDLE(omp_large_cap_mem_space, 1)
HANDLE(omp_const_mem_space, 2)
HANDLE(omp_high_bw_mem_space, 3)
HANDLE(omp_low_lat_mem_space, 4)
