// For who waits for a few instructions of another kernel thread. That one may have lost its core, so who waits for long
// gives his time slice away. He does not sleep: the watch takes who sleeps for somebody that may be moved elsewhere.
#pragma once

#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"

namespace comity::sys {

class backoff {
public:
    void pause() noexcept {
        constexpr unsigned spins = 200;
        if (pauses_ == spins) return yield_kernel_thread();
        ++pauses_;
        cpu_relax();
    }

private:
    unsigned pauses_ = 0;
};

} // namespace comity::sys
