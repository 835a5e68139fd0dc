// Running a function on a TLS block without a runtime: for the self-test, and for the tests of this folder.
#pragma once

#include <cstdint>

#include "core/arch/switch.hpp"
#include "core/tls/block.hpp"

namespace comity::core {

// A computation on a block. One kernel thread at a time may be inside.
struct visit {
    tls_block *block = nullptr;
    void (*fn)(visit &) = nullptr;
    void *arg = nullptr;
    bool done = false; // fn has returned: the block is free for another visit

    void *self = nullptr;         // where it is stopped
    void *home = nullptr;         // where the kernel thread that is inside goes on when it leaves
    std::uintptr_t home_base = 0; // that kernel thread's TLS
};

// Runs v.fn(v) on v.block, until it returns or calls leave().
void enter(visit &v) noexcept;
// Goes on after leave(), on any kernel thread.
void reenter(visit &v) noexcept;
// From within v.fn: stops it; enter or reenter returns.
void leave(visit &v) noexcept;

} // namespace comity::core
