// The only hart, lent by a context that stands where it cannot be stopped. README.md, "Displacement", "Lending".
#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/fork_gate.hpp"
#include "core/runtime.hpp"
#include "sys/clock.hpp"

#include <algorithm>

namespace comity::core {

bool base_scheduler::lend(carrier *k) noexcept {
    hart *h = k->carried;
    if (count_ != 1 || is_lent_.load(std::memory_order_relaxed)) return false;
    const bool is_worker = h->worker.load(std::memory_order_relaxed) == k;
    if (is_worker ? !set_worker(h, relief_) && !set_worker(h, spare_worker_) : !finds_worker(h)) return false;
    if (!k->bound || !k->bound->place) unbind(k);
    sched *into = k->current_sched;
    is_lent_.store(true, std::memory_order_relaxed);
    k->carried = nullptr;
    become(k, this);
    give(h, h->worker.load(std::memory_order_relaxed), into);
    (void)queue_up(k);
    return true;
}

void base_scheduler::take_back_lent(carrier *k, sched *s) noexcept {
    constexpr std::uint64_t shortest_us = 1000, longest_us = 4000; // as a thread that waits for a hart
    for (std::uint64_t us = shortest_us; !k->carried; us = std::min(2 * us, longest_us)) {
        if (k->park.wait_until(sys::now_ns() + static_cast<std::int64_t>(us) * 1000))
            k->carried = k->granted.h;
        else if (enter_fork_gate()) {
            if (!claim_for(k)) tell_of_wait();
            leave_fork_gate();
        }
    }
    hart *h = k->carried;
    carrier *other = h->worker.load(std::memory_order_relaxed);
    if (!k->adopted && other != k) {
        k->own.store(h, std::memory_order_relaxed);
        h->worker.store(k, std::memory_order_release); // release[worker]
        other->own.store(nullptr, std::memory_order_relaxed);
        relief_.store(other, std::memory_order_release); // release[spare-worker]
    }
    is_lent_.store(false, std::memory_order_relaxed);
    bind_as_hart(k);
    k->granted_at = sys::ticks();
    for (sched *at = s; at && at != this; at = at->parent)
        at->account.fetch_add(sched::one_hart, std::memory_order_acq_rel); // acq_rel[account]
    become(k, s);
}

} // namespace comity::core
