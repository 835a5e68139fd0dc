#pragma once
#include "core/context.hpp"
#include <cstddef>
#include <cstdint>
namespace comity::core {
struct tls_block {
    std::uintptr_t base = 0;
    context **current_slot = nullptr;
    std::byte *stack_top = nullptr, *stack_bottom = nullptr;
};
tls_block *make_tls_block(std::size_t stack_size, int &error) noexcept;
void free_tls_block(tls_block *b) noexcept;
void select_tls_provider() noexcept;
bool run_on_donor(tls_block *b, void (*fn)(void *), void *arg) noexcept;
}
