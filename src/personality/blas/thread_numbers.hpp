// The thread numbers that jobs run under. OpenBLAS keeps a work buffer for each number in one table of the library, so
// two jobs that run at the same time, of whatever callers, must have different ones; and the numbers from 0 up belong
// to the library's own pool, which getrf's asynchronous jobs still use.
#pragma once

#include "core/spinlock.hpp"

#include <atomic>
#include <cstdint>

namespace comity::blas {

class thread_numbers {
public:
    static constexpr unsigned most = 1024; // the largest table that is served

    // The numbers in [first, end) are ours. While nobody takes any, or to raise `first`.
    void set_range(unsigned first, unsigned end) noexcept;
    unsigned count() const noexcept { return end_ - first_; }

    // Takes the n lowest free numbers, n <= count(); waits while there are too few, which means that as many jobs run
    // as the library has buffers for. May switch.
    void take(unsigned n, std::uint16_t *numbers) noexcept;
    void give_back(unsigned n, const std::uint16_t *numbers) noexcept;
    unsigned first() const noexcept { return first_; }
    // Is no number below this one taken?
    bool free_below(unsigned end) noexcept;
    // Around a fork: waits until no number is taken, and lets nobody take one until reopen.
    void close() noexcept;
    // False in the child when threads waited to take numbers at the fork; they are not there any more.
    bool reopen(bool in_child) noexcept;

private:
    bool try_take(unsigned n, std::uint16_t *numbers) noexcept;

    core::spinlock lock_;
    unsigned first_ = 0, end_ = 0;
    unsigned taken_ = 0;                   // under lock_
    bool closed_ = false;                  // under lock_
    std::atomic<unsigned> waiting_{0};     // by those who wait
    std::uint64_t in_use_[most / 64] = {}; // under lock_
};

} // namespace comity::blas
