// The mask that a thread gives on: to a program that it starts, and to a kernel thread that the C library makes for it.
// The kernel's, of the kernel thread on which it is, is open. A rank gives on what the first thread blocks, too.
#pragma once

#include "personality/pthread/threads/sleeping_call.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/signals.hpp"

namespace comity::posix {

// While one lives, the calling thread's own mask is the kernel's here. It must not switch meanwhile.
class own_mask {
public:
    own_mask() noexcept {
        const receiver *r = receiver_here();
        if (r && in_vforked_child() && this_vforked_child().has_mask) return; // the kernel's is its own
        const receiver *first = !r && is_rank() ? first_receiver_if(first_thread_handle()) : nullptr;
        changes_ = r || first;
        if (r) kernels_ = sys::exchange_mask(r->blocked.load(std::memory_order_relaxed));
        if (first) kernels_ = sys::block_signals(first->blocked.load(std::memory_order_relaxed));
    }
    ~own_mask() {
        if (changes_) (void)sys::exchange_mask(kernels_);
    }
    own_mask(const own_mask &) = delete;
    own_mask &operator=(const own_mask &) = delete;

private:
    bool changes_ = false;
    std::uint64_t kernels_ = 0;
};

} // namespace comity::posix
