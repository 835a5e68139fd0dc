#include "personality/blas/thread_count.hpp"

#include <algorithm>

namespace comity::blas {

static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

void thread_count::start(int *variable, unsigned most) noexcept {
    variable_ = reinterpret_cast<std::atomic<int> *>(variable);
    most_ = static_cast<int>(most);
    published_ = variable_->load(std::memory_order_relaxed);
    wanted_.store(published_, std::memory_order_relaxed);
}

void thread_count::publish(int jobs) noexcept {
    int now = variable_->load(std::memory_order_relaxed);
    for (;;) {
        if (now != published_) wanted_.store(published_ = now, std::memory_order_relaxed);
        const int next = std::max(1, std::min({jobs, wanted(), most_}));
        // By compare-exchange: a number that the user writes at this moment must not be lost.
        if (next == now || variable_->compare_exchange_strong(now, next, std::memory_order_relaxed)) {
            published_ = next;
            return;
        }
    }
}

void thread_count::stop() noexcept {
    if (variable_->load(std::memory_order_relaxed) == published_) variable_->store(wanted(), std::memory_order_relaxed);
}

} // namespace comity::blas
