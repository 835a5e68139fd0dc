#include "sys/fence.hpp"

#include "sys/message.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::sys {

std::atomic<bool> fences_are_uneven{false};

namespace {

bool interrupt_all() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0; }

__attribute__((constructor)) void prepare_early() noexcept { prepare_fences(); }

} // namespace

void prepare_fences() noexcept {
    if (fences_are_uneven.load(std::memory_order_relaxed)) return;
    const bool may = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    fences_are_uneven.store(may && interrupt_all(), std::memory_order_relaxed);
}

void heavy_fence() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[uneven]
    if (fences_are_uneven.load(std::memory_order_relaxed) && !interrupt_all())
        fatal("membarrier", "the kernel no longer allows it");
}

} // namespace comity::sys
