// The modes of floating point of the calling kernel thread: rounding, traps, flush-to-zero; and its environment: modes
// and the status flags of what was computed (of SSE's, without "inexact", as a switch has it). Never switches.
#pragma once

#include <cstdint>

namespace comity::sys {

#if defined(__x86_64__)
// MXCSR, whose low six bits are status flags, and above it the x87 control word. Never 0: a reserved bit of the latter
// is always set.
inline constexpr std::uint32_t sse_modes = 0xffc0, sse_environment = 0xffdf;
inline std::uint64_t float_bits(std::uint32_t of_sse) noexcept {
    std::uint32_t sse = 0;
    std::uint16_t x87 = 0;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87));
    return std::uint64_t{x87} << 32 | (sse & of_sse);
}
inline void set_float_bits(std::uint64_t bits, std::uint32_t of_sse) noexcept {
    std::uint32_t sse = 0;
    const auto x87 = static_cast<std::uint16_t>(bits >> 32);
    asm volatile("stmxcsr %0" : "=m"(sse));
    sse = (sse & ~of_sse) | static_cast<std::uint32_t>(bits);
    asm volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(sse), "m"(x87));
}
inline std::uint64_t float_modes() noexcept { return float_bits(sse_modes); }
inline void set_float_modes(std::uint64_t modes) noexcept { set_float_bits(modes, sse_modes); }
inline std::uint64_t float_environment() noexcept { return float_bits(sse_environment); }
inline void set_float_environment(std::uint64_t all) noexcept { set_float_bits(all, sse_environment); }
#elif defined(__aarch64__)
inline std::uint64_t float_modes() noexcept {
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}
inline void set_float_modes(std::uint64_t modes) noexcept { asm volatile("msr fpcr, %0" ::"r"(modes)); }
// FPCR, which has 32 bits, and above it FPSR.
inline std::uint64_t float_environment() noexcept {
    std::uint64_t fpsr = 0;
    asm volatile("mrs %0, fpsr" : "=r"(fpsr));
    return fpsr << 32 | float_modes();
}
inline void set_float_environment(std::uint64_t all) noexcept {
    set_float_modes(all & 0xffffffffU);
    asm volatile("msr fpsr, %0" ::"r"(all >> 32));
}
#endif

} // namespace comity::sys
