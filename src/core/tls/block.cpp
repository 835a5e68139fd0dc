#include "core/tls/block.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "core/tls/base.hpp"
#include "core/tls/credentials.hpp"
#include "core/tls/provider.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"

namespace comity::core {
namespace {

std::atomic<unsigned> colour{0};
std::atomic<unsigned> generation{0}; // written by the only thread of a forked child

// Named in a message only if the user has set it.
const char *variable(sys::tls_choice asked) noexcept {
    switch (asked) {
    case sys::tls_choice::donor:
        return "COMITY_TLS=donor: ";
    case sys::tls_choice::glibc:
        return "COMITY_TLS=glibc: ";
    case sys::tls_choice::automatic:
        break;
    }
    return "";
}

} // namespace

const char *provider_name(tls_provider provider) noexcept {
    switch (provider) {
    case tls_provider::donor:
        return "sleeping threads (donor)";
    case tls_provider::glibc:
        return "the C library's allocator (glibc)";
    case tls_provider::none:
        break;
    }
    return "nowhere";
}

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

tls_provider choose_tls_provider(sys::tls_choice asked) noexcept {
    detect_tls_base();
    const bool glibc_first = asked == sys::tls_choice::glibc;
    const tls_provider first = glibc_first ? tls_provider::glibc : tls_provider::donor;
    const tls_provider second = glibc_first ? tls_provider::donor : tls_provider::glibc;
    const char *const wrong = tls_self_test(first);
    if (!wrong) return first;
    const char *const also_wrong = tls_self_test(second);
    if (!also_wrong) {
        sys::warn("%sthread-local storage from %s does not work here (%s); it comes from %s instead", variable(asked),
                  provider_name(first), wrong, provider_name(second));
        return second;
    }
    sys::warn("%sno thread-local storage for contexts: from %s: %s; from %s: %s", variable(asked), provider_name(first),
              wrong, provider_name(second), also_wrong);
    return tls_provider::none;
}

tls_provider select_tls_provider() noexcept {
    return sys::made_once([] {
        const tls_provider p = choose_tls_provider(sys::get_options().tls);
        if (p != tls_provider::none) answer_setuid_as_own_thread(); // its self-test has created a thread
        return p;
    });
}

tls_block *make_tls_block(std::size_t stack_size, int &error) noexcept {
    switch (select_tls_provider()) {
    case tls_provider::donor:
        return make_donor_block(stack_size, error);
    case tls_provider::glibc:
        return make_glibc_block(stack_size, error);
    case tls_provider::none:
        break;
    }
    error = EAGAIN;
    return nullptr;
}

void free_tls_block(tls_block *block) noexcept {
    // The C library of a process that was forked on this block has it in its lists for ever.
    if (!block || block->forked) return;
    if (block->provider == tls_provider::donor)
        free_donor_block(block);
    else
        free_glibc_block(block);
}

void tls_after_fork(tls_block *running) noexcept {
    generation.fetch_add(1, std::memory_order_relaxed);
    if (running) running->forked = true;
    donors_after_fork();
}

} // namespace comity::core
