// The modes of floating point of the calling kernel thread: rounding, traps, flush-to-zero. Never switches.
#pragma once

#include <cstdint>

namespace comity::sys {

#if defined(__x86_64__)
// MXCSR's control bits (its low six are status flags), and above them the x87 control word. Never 0: a reserved bit of
// the latter is always set.
inline std::uint64_t float_modes() noexcept {
    std::uint32_t sse = 0;
    std::uint16_t x87 = 0;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87));
    return std::uint64_t{x87} << 32 | (sse & 0xffc0U);
}
inline void set_float_modes(std::uint64_t modes) noexcept {
    std::uint32_t sse = 0;
    const auto x87 = static_cast<std::uint16_t>(modes >> 32);
    asm volatile("stmxcsr %0" : "=m"(sse));
    sse = (sse & 0x3fU) | static_cast<std::uint32_t>(modes);
    asm volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(sse), "m"(x87));
}
#elif defined(__aarch64__)
inline std::uint64_t float_modes() noexcept {
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}
inline void set_float_modes(std::uint64_t modes) noexcept { asm volatile("msr fpcr, %0" ::"r"(modes)); }
#endif

} // namespace comity::sys
