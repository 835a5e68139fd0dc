#include "core/tls/block.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "core/tls/base.hpp"
#include "core/tls/provider.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

namespace comity::core {
namespace {

std::atomic<unsigned> colour{0};
std::atomic<unsigned> generation{0}; // written by the only thread of a forked child

} // namespace

carved_stack carve_stack(std::size_t usable, std::size_t block_size) noexcept {
    constexpr std::size_t line = 64, lines = 4096 / line;
    carved_stack carved;
    const std::size_t extra = lines * line + (block_size + line - 1) / line * line;
    if (usable > PTRDIFF_MAX - extra) return carved;
    carved.stack = sys::map_stack(usable + extra);
    if (!carved.stack) return carved;
    const std::size_t shift = colour.fetch_add(1, std::memory_order_relaxed) % lines * line;
    const auto top = reinterpret_cast<std::uintptr_t>(carved.stack.top) - shift - block_size;
    carved.block = reinterpret_cast<void *>(top & ~std::uintptr_t{line - 1});
    return carved;
}

unsigned process_generation() noexcept { return generation.load(std::memory_order_relaxed); }

tls_provider select_tls_provider() noexcept {
    detect_tls_base();
    return tls_provider::donor;
}

tls_block *make_tls_block(std::size_t stack_size, int &error) noexcept { return make_donor_block(stack_size, error); }

void tls_first_entry(tls_block *) noexcept {}

void free_tls_block(tls_block *block) noexcept {
    // The C library of a process that was forked on this block has it in its lists for ever.
    if (!block || block->forked) return;
    if (block->provider == tls_provider::donor) free_donor_block(block);
}

void tls_after_fork(tls_block *running) noexcept {
    generation.fetch_add(1, std::memory_order_relaxed);
    if (running) running->forked = true;
}

} // namespace comity::core
