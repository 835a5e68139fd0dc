// What the allocate clause and directive compile to.
#include "personality/openmp/memory.hpp"
#include "personality/openmp/gomp/abi.hpp"
#include "sys/message.hpp"

namespace openmp = comity::openmp;

COMITY_GOMP void *GOMP_alloc(std::size_t alignment, std::size_t size, std::uintptr_t handle) noexcept {
    void *block = openmp::allocate(alignment ? alignment : 1, size ? size : 1, handle);
    if (!block) comity::sys::fatal("GOMP_alloc", "no memory for %zu bytes", size);
    return block;
}
COMITY_GOMP void GOMP_free(void *block, std::uintptr_t) noexcept { openmp::release(block); }
