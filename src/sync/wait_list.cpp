#include "sync/wait_list.hpp"

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"

namespace comity::sync {

using core::carrier;
using core::context;

void wait_list::wait_once(ready_fn ready, void *arg) noexcept {
    context *c = core::adopt()->current;
    carrier *k = c->on;
    waiting w{this, ready, arg};
    if (!k->carried) return wait_in_kernel(c, w);
    core::sched *s = k->current_sched;
    const std::uint64_t from = sys::ticks(), most = core::spin_ticks();
    for (unsigned i = 0; !(s->hooks && s->hooks->other_work(s)); ++i) {
        if (ready(arg)) return;
        if (i % 16 == 15 && sys::ticks() - from > most) break;
        sys::cpu_relax();
    }
    core::pause(c, park, &w);
}

// Enters the list unless the condition holds. The count is raised before the condition is looked at again, and the
// waker lowers it after making the condition true: one of the two sees the other (store, fence, load on both sides).
bool wait_list::enqueue(context *c, ready_fn ready, void *arg) noexcept {
    lock_.lock();
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list]
    core::chaos_point();
    const bool wait = !ready(arg);
    if (wait) {
        c->next = nullptr;
        (last_ ? last_->next : first_) = c;
        last_ = c;
    } else {
        count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    lock_.unlock();
    return wait;
}

// On the transition context: the waiter is off its stack, so a waker may resume it at once. `w` lies on that stack: not
// to be read after enqueue has succeeded.
void wait_list::park(context *c, void *argument) {
    const waiting w = *static_cast<waiting *>(argument);
    carrier *k = core::current_carrier();
    if (w.list->enqueue(c, w.ready, w.arg)) core::block(k, c);
    core::resume(k, c);
}

void wait_list::wait_in_kernel(context *c, waiting &w) noexcept {
    carrier *k = c->on;
    if (w.list->enqueue(c, w.ready, w.arg)) core::sleep_without_hart(k);
}

void wait_list::wake_all() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list]
    if (count_.load(std::memory_order_relaxed) == 0) return;
    lock_.lock();
    context *first = first_;
    first_ = last_ = nullptr;
    count_.store(0, std::memory_order_relaxed);
    lock_.unlock();
    core::unblock_all(first);
}

void wait_list::wake_one() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list]
    if (count_.load(std::memory_order_relaxed) == 0) return;
    lock_.lock();
    context *c = first_;
    if (c) {
        first_ = c->next;
        if (!first_) last_ = nullptr;
        count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    lock_.unlock();
    if (c) core::unblock(c);
}

} // namespace comity::sync
