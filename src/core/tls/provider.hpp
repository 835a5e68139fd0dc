// What the providers share: where a block lies on its stack, and how the processes that forked are told apart.
#pragma once

#include <cstddef>

#include "core/tls/block.hpp"
#include "sys/options.hpp"

namespace comity::core {

// A fresh stack whose top holds a block made by `construct(at)`, which takes `block_size` bytes; what lies below the
// block, [stack.bottom, block), is free. Blocks lie at different offsets in their pages: thousands of equal ones
// would share a few sets of the first cache.
struct carved_stack {
    sys::stack_memory stack;
    void *block = nullptr; // 64-byte aligned; nullptr: no memory
};
carved_stack carve_stack(std::size_t usable, std::size_t block_size) noexcept;

// How many forks this process is away from the first one that used Comity.
unsigned process_generation() noexcept;

// What select_tls_provider chooses, each time anew.
tls_provider choose_tls_provider(sys::tls_choice asked) noexcept;

void free_donor_block(tls_block *block) noexcept;
void donors_after_fork() noexcept; // in the child: there are none
// Donors as helpers (../alone.hpp): those whose kernel threads rest. They go on with what they lend, whoever has it.
unsigned count_donors() noexcept;
void end_donors() noexcept;
void begin_donors() noexcept;
void free_glibc_block(tls_block *block) noexcept;

} // namespace comity::core
