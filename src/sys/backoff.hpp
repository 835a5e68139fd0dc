// For who waits for a few instructions of another kernel thread. That one may have lost its core, so who waits for long
// gives his time slice away; and as that helps only those on the same core, he sleeps at last, so that the kernel has a
// core for the other one.
#pragma once

#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"

namespace comity::sys {

class backoff {
public:
    void pause() noexcept {
        constexpr unsigned spins = 200, yields = 100;
        constexpr std::int64_t nap_ns = 50'000;
        if (pauses_ < spins)
            cpu_relax();
        else if (pauses_ < spins + yields)
            yield_kernel_thread();
        else
            nap(nap_ns);
        ++pauses_;
    }

private:
    unsigned pauses_ = 0;
};

} // namespace comity::sys
