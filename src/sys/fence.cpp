#include "sys/fence.hpp"

#include "sys/errno_kept.hpp"
#include "sys/futex.hpp"

#include <cstdint>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::sys {

std::atomic<bool> fences_are_uneven{false};

namespace {

bool interrupt_all() noexcept {
    const errno_kept kept;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

__attribute__((constructor)) void prepare_early() noexcept { prepare_fences(); }

} // namespace

void prepare_fences() noexcept {
    if (fences_are_uneven.load(std::memory_order_relaxed)) return;
    const bool may = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    fences_are_uneven.store(may && interrupt_all(), std::memory_order_relaxed);
}

// A sandbox that came later may refuse the call. What the light sides have stored is then waited for: a core's store
// becomes visible in a bounded time, by far less than this. Light sides that look from now on make their own fence;
// those that do not look (a deque is made for one kind) have the heavy side wait for as long as they live.
void heavy_fence() noexcept {
    constexpr std::int64_t long_enough_ns = 1'000'000;
    static std::atomic<bool> is_refused{false};
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[uneven]
    const bool is_uneven = fences_are_uneven.load(std::memory_order_relaxed);
    if (is_uneven && interrupt_all()) return;
    if (is_uneven) is_refused.store(true, std::memory_order_relaxed);
    if (!is_refused.load(std::memory_order_relaxed)) return;
    fences_are_uneven.store(false, std::memory_order_relaxed);
    nap(long_enough_ns);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[uneven]
}

} // namespace comity::sys
