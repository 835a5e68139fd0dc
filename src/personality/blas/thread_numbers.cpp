#include "personality/blas/thread_numbers.hpp"

#include "core/sched.hpp"
#include "sys/kernel_thread.hpp"

namespace comity::blas {

void thread_numbers::set_range(unsigned first, unsigned end) noexcept {
    lock_.lock();
    first_ = first;
    end_ = end < most ? end : most;
    if (end_ < first_) end_ = first_;
    lock_.unlock();
}

bool thread_numbers::try_take(unsigned n, std::uint16_t *numbers) noexcept {
    lock_.lock();
    const bool enough = !closed_ && end_ - first_ >= taken_ + n;
    for (unsigned i = first_, left = enough ? n : 0; left != 0; ++i) {
        std::uint64_t &word = in_use_[i / 64];
        if (word >> (i % 64) & 1) continue;
        word |= std::uint64_t{1} << (i % 64);
        *numbers++ = static_cast<std::uint16_t>(i);
        --left;
    }
    if (enough) taken_ += n;
    lock_.unlock();
    return enough;
}

void thread_numbers::take(unsigned n, std::uint16_t *numbers) noexcept {
    if (try_take(n, numbers)) return;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    while (!try_take(n, numbers))
        if (!core::let_others_run()) // whoever has the numbers may be waiting for this hart
            sys::yield_kernel_thread();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void thread_numbers::give_back(unsigned n, const std::uint16_t *numbers) noexcept {
    lock_.lock();
    for (unsigned i = 0; i < n; ++i) in_use_[numbers[i] / 64] &= ~(std::uint64_t{1} << (numbers[i] % 64));
    taken_ -= n;
    lock_.unlock();
}

bool thread_numbers::free_below(unsigned end) noexcept {
    bool free = true;
    lock_.lock();
    for (unsigned i = 0; i < end && i < most; ++i) free = free && !(in_use_[i / 64] >> (i % 64) & 1);
    lock_.unlock();
    return free;
}

void thread_numbers::close() noexcept {
    lock_.lock();
    closed_ = true;
    lock_.unlock();
    while (!free_below(most)) sys::yield_kernel_thread();
    lock_.lock(); // so that it is not held by a thread that the child has not
}

bool thread_numbers::reopen(bool in_child) noexcept {
    closed_ = false;
    lock_.unlock();
    return !in_child || waiting_.exchange(0, std::memory_order_relaxed) == 0;
}

} // namespace comity::blas
