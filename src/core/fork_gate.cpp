#include "core/fork_gate.hpp"

#include "sys/backoff.hpp"

#include <atomic>
#include <cstdint>

namespace comity::core {

namespace {

// Sections that are open, or are about to find that they may not be, in the low half; closings in the high half.
constinit std::atomic<std::uint64_t> gate{0};
constexpr std::uint64_t one_section = 1, one_closing = std::uint64_t{1} << 32;

} // namespace

bool enter_fork_gate() noexcept {
    if (gate.fetch_add(one_section, std::memory_order_acq_rel) < one_closing) return true; // acq_rel[fork-gate]
    leave_fork_gate();
    return false;
}

void leave_fork_gate() noexcept { gate.fetch_sub(one_section, std::memory_order_acq_rel); } // acq_rel[fork-gate]

void close_fork_gate() noexcept {
    std::uint64_t now = gate.fetch_add(one_closing, std::memory_order_acq_rel);              // acq_rel[fork-gate]
    for (sys::backoff b; now % one_closing != 0; now = gate.load(std::memory_order_acquire)) // acquire[fork-gate]
        b.pause();
}

void open_fork_gate() noexcept { gate.fetch_sub(one_closing, std::memory_order_acq_rel); } // acq_rel[fork-gate]

void open_fork_gate_in_child() noexcept { gate.store(0, std::memory_order_relaxed); }

} // namespace comity::core
