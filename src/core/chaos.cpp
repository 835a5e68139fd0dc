#include "core/chaos.hpp"

#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/random.hpp"

namespace comity::core {

std::atomic<bool> chaos_on{false};
namespace {
std::atomic<std::uint64_t> chaos_state{
    1}; // one sequence for all harts: its order is up to the machine, its values to the seed
}

void chaos_seed(std::uint64_t seed) noexcept {
    chaos_on.store(seed != 0, std::memory_order_relaxed);
    chaos_state.store(seed, std::memory_order_relaxed);
}

std::uint32_t chaos_random() noexcept {
    return static_cast<std::uint32_t>(sys::mix(chaos_state.fetch_add(sys::random_step, std::memory_order_relaxed)) >>
                                      16);
}

void chaos_delay() noexcept {
    const std::uint32_t r = chaos_random();
    if (r % 64 == 0)
        sys::yield_kernel_thread();
    else if (r % 8 == 0)
        for (std::uint32_t i = 0; i < (r >> 8) % 200; ++i) sys::cpu_relax();
}

} // namespace comity::core
