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
    waiting w{c, this, ready, arg};
    if (!k->carried) { // a thread outside Comity's schedulers sleeps in the kernel
        if (enqueue(w)) core::sleep_without_hart(k);
        return;
    }
    core::sched *s = k->current_sched;
    const core::sched_hooks *hooks = s->hooks;
    const std::uint64_t from = sys::ticks(), most = core::spin_ticks();
    for (unsigned i = 0; !(hooks && hooks->other_work(s)); ++i) {
        if (ready(arg)) return;
        if (i % 16 == 15 && sys::ticks() - from > most) break;
        sys::cpu_relax();
    }
    if (hooks && hooks->switch_to_other && hooks->switch_to_other(s, c, left_behind, &w)) return;
    core::pause(c, park, &w);
}

// Enters the list unless the condition holds; the waiter is off its stack, so a waker may resume it at once: `w` is a
// copy. The count is raised before the condition is looked at again, and the waker lowers it after making the condition
// true: one of the two sees the other (store, fence, load on both sides).
bool wait_list::enqueue(waiting w) noexcept {
    wait_list &l = *w.list;
    l.lock_.lock();
    l.count_.store(l.count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[wait-list]
    core::chaos_point();
    const bool wait = !w.ready(w.arg);
    if (wait) {
        w.who->next = nullptr;
        (l.last_ ? l.last_->next : l.first_) = w.who;
        l.last_ = w.who;
    } else {
        l.count_.store(l.count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    l.lock_.unlock();
    return wait;
}

// On the transition context.
void wait_list::park(context *c, void *argument) {
    carrier *k = core::current_carrier();
    if (enqueue(*static_cast<waiting *>(argument))) core::block(k, c);
    core::resume(k, c);
}

// On the context that goes on instead.
void wait_list::left_behind(void *argument) {
    const waiting w = *static_cast<waiting *>(argument);
    ++core::current_carrier()->count.blocks;
    if (!enqueue(w)) core::unblock(w.who);
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
