// The mask that a thread gives on: to a program that it starts, and to a kernel thread that the C library makes for it.
// The kernel's, of the kernel thread on which it is, is open.
#pragma once

#include "personality/pthread/threads/vfork.hpp"
#include "sys/signals.hpp"

namespace comity::posix {

// While one lives, the calling thread's own mask is the kernel's here. It must not switch meanwhile.
class own_mask {
public:
    own_mask() noexcept : r_(receiver_here()) {
        if (r_ && in_vforked_child() && this_vforked_child().has_mask) r_ = nullptr; // the kernel's is its own
        if (r_) kernels_ = sys::exchange_mask(r_->blocked.load(std::memory_order_relaxed));
    }
    ~own_mask() {
        if (r_) (void)sys::exchange_mask(kernels_);
    }
    own_mask(const own_mask &) = delete;
    own_mask &operator=(const own_mask &) = delete;

private:
    receiver *r_;
    std::uint64_t kernels_ = 0;
};

} // namespace comity::posix
