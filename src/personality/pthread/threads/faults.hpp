// Handlers of faults, which the kernel calls on the kernel thread that has the fault.
#pragma once

#include <cstdint>

#include <csignal>

namespace comity::posix {

bool is_fault(int signal) noexcept;
// As sigaction, for a fault.
int set_fault_action(int signal, const struct sigaction *to, struct sigaction *before) noexcept;
// Does the calling kernel thread block one, as the kernel's handlers of them do? A system call.
bool is_in_fault_handler() noexcept;
// What the program has set before the first thread.
void take_over_faults() noexcept;

// Does the address lie on this signal stack?
inline bool is_on(const stack_t &s, std::uintptr_t address) noexcept {
    return !(s.ss_flags & SS_DISABLE) && address - reinterpret_cast<std::uintptr_t>(s.ss_sp) < s.ss_size;
}

} // namespace comity::posix
