// The one blocking primitive under every synchronisation object: a list of contexts that wait for a condition which
// somebody else makes true (an event count). Spins a little, then blocks the context, never the hart. A kernel thread
// that holds no hart sleeps in the kernel instead, so the same object serves adopted and foreign threads.
//
// Protocol and proof: README.md in this folder.
#pragma once

#include "core/context.hpp"
#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "core/waiter.hpp"
#include "sys/fence.hpp"
#include "sys/futex.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"
#include "sys/shared.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace comity::sync {

struct ready_or_cancelled;

// How a wait ended: the condition holds; its deadline has passed; the calling thread was cancelled.
enum class wait_end : std::uint8_t { done, late, cancelled };

class COMITY_SHARED wait_list {
public:
    // Returns when ready() is true. ready() may be called several times, on the caller's context and, while the caller
    // is being parked, on the transition context: it must only read atomics. Any thread or context; may switch.
    template <class Ready> void wait(Ready &&ready) noexcept {
        if (ready()) return;
        waiting w{nullptr, this, call<Ready>, &ready, nullptr, true};
        do wait_once(w);
        while (!ready());
    }
    // The same for a caller who has spun: blocks at once.
    template <class Ready> bool block_until(Ready &&ready, std::int64_t deadline) noexcept {
        if (deadline != sys::no_deadline) return ready() || wait_with_deadline(call<Ready>, &ready, deadline, false);
        waiting w{nullptr, this, call<Ready>, &ready, nullptr, false};
        while (!ready()) wait_once(w);
        return true;
    }
    // The same until a deadline (sys::now_ns). False: it has passed, and ready() was false after that.
    template <class Ready> bool wait_until(Ready &&ready, std::int64_t deadline) noexcept {
        if (deadline == sys::no_deadline) {
            wait(ready);
            return true;
        }
        return ready() || wait_with_deadline(call<Ready>, &ready, deadline, true);
    }

    // The same, and a request to cancel the calling thread ends the wait too. Unless it is `done`, ready() was false
    // afterwards, so nothing that a waker gave was taken. Whether the thread was cancelled before is not looked at
    // while ready() is true.
    template <class Ready> wait_end wait_or_cancel(Ready &&ready, std::int64_t deadline) noexcept {
        return ready() ? wait_end::done : wait_open_to_cancel(call<Ready>, &ready, deadline, true);
    }
    // The same for a caller who has spun: blocks at once.
    template <class Ready> wait_end block_or_cancel(Ready &&ready, std::int64_t deadline) noexcept {
        return ready() ? wait_end::done : wait_open_to_cancel(call<Ready>, &ready, deadline, false);
    }

    // Only the spinning: for a while, and if nothing else can run here; returns whether ready() was true.
    template <class Ready> static bool spin_for(Ready &&ready, std::int64_t deadline) noexcept {
        core::context *c = core::current_context();
        return ready() || (c && spin(c, call<Ready>, &ready, deadline));
    }

    // For a context on a hart; does not look at all if something else can run.
    template <class Ready> static bool spin_if_idle(core::context *c, Ready &&ready) noexcept {
        return spin(c, call<Ready>, &ready, sys::no_deadline);
    }

    // To be called after the condition was made true (by a release store or stronger): wakes everybody who waits, or
    // one. Any thread; never switches. The wait_list must outlive the call.
    void wake_all() noexcept;
    void wake_one() noexcept;
    // wake_all, where the condition was made true by an atomic read-modify-write operation.
    void wake_all_after_change() noexcept {
        sys::fence_after_change(std::memory_order_seq_cst); // seq_cst[wait-list]
        if (!empty()) wake_all();
    }
    // The same for up to n of those who wait for a condition that `change` makes true, and that nobody else makes true
    // without the list's lock while somebody may wait. Then neither fence nor count is needed, since who enters looks
    // under the lock, too; and who has seen the change, and then that the lock is free, may destroy the object. False:
    // `change` changed nothing.
    template <class Change> bool wake(std::uint32_t n, Change &&change) noexcept {
        lock_.lock();
        const bool changed = change();
        core::context *first = changed && (!waiters_.empty() || ring_) ? take(n) : nullptr;
        lock_.unlock();
        if (first) first->next ? core::unblock_all(first) : core::unblock(first);
        return changed;
    }
    static constexpr std::uint32_t all = UINT32_MAX;
    void wait_until_unlocked() const noexcept { lock_.wait(); }
    // Is there perhaps somebody to wake? Exact after a sequentially consistent fence that follows what makes the
    // condition true.
    bool empty() const noexcept { return count_.get() == 0; }
    std::uint32_t size() const noexcept { return count_.get(); }
    // Does a context stand in it? For who is about to destroy it.
    bool has_contexts() noexcept;

    // ---- Callbacks instead of contexts: for conditions that stay true, and lists that are woken by take_all only.

    // w->call(w) will be called once the condition holds. False: it holds already. `w` is the caller's until then.
    template <class Ready> bool add(core::waiter &w, Ready &&ready) noexcept {
        w.list = this;
        return enter(w, call<Ready>, &ready);
    }
    // Takes it out of the list; false: it has been taken by take_all, and is or will be called.
    bool remove(core::waiter &w) noexcept;
    // Wakes all contexts, and returns the callbacks, linked by `next`: for the caller to call, perhaps after his last
    // access to the list.
    core::waiter *take_all() noexcept;
    static void call_all(core::waiter *first) noexcept;

private:
    using ready_fn = bool (*)(void *) noexcept;
    struct waiting {
        core::context *who;
        wait_list *list;
        ready_fn ready;
        void *arg;
        core::waiter *place; // null: no deadline; stands in the list as a context
        bool spins;
    };
    template <class Ready> static bool call(void *ready) noexcept {
        return (*static_cast<std::remove_reference_t<Ready> *>(ready))();
    }
    static void wait_once(waiting &w) noexcept;
    static void wait_outside(waiting &w) noexcept;
    bool wait_with_deadline(ready_fn ready, void *arg, std::int64_t deadline, bool spins) noexcept;
    wait_end wait_open_to_cancel(ready_fn ready, void *arg, std::int64_t deadline, bool spins) noexcept;
    void block_until_cancelled(core::waiter &place, ready_or_cancelled &either, std::int64_t deadline) noexcept;
    void block_until_cancelled(core::context *c, ready_or_cancelled &either) noexcept;
    core::waiter &place_for(core::context *c, core::waiter &own) noexcept;
    bool block_in_place(core::waiter &place, ready_fn ready, void *arg) noexcept;
    core::context *take_one() noexcept;
    core::context *take(std::uint32_t n) noexcept;
    core::context *take_everybody(core::waiter *&calls) noexcept;
    core::context *take_out(core::waiter &w, bool expired) noexcept;
    core::context *take_out(core::context *c) noexcept;
    friend struct list_interruption;
    bool wait_in_kernel(core::context *c, ready_fn ready, void *arg, std::int64_t deadline) noexcept;
    static bool poll(ready_fn ready, void *arg, std::int64_t deadline) noexcept;
    static bool look_late(ready_fn ready, void *arg) noexcept;
    static bool spin(core::context *c, ready_fn ready, void *arg, std::int64_t deadline) noexcept;
    static void block(waiting &w) noexcept;
    static bool enqueue(const waiting &w) noexcept;
    bool enter(core::waiter &w, ready_fn ready, void *arg) noexcept;
    static void park(core::context *c, void *argument);
    static void left_behind(void *argument);
    static core::context *expire(core::timer *t) noexcept;
    void link(core::waiter &w) noexcept;
    void unlink(core::waiter &w) noexcept;

    sys::own_count<std::uint32_t> count_; // of those in the list; written under lock_
    core::spinlock lock_;
    bool ring_next_ = false;       // whose turn it is in wake_one; under lock_
    core::context_list waiters_;   // those without a deadline, under lock_
    core::waiter *ring_ = nullptr; // the others, the first of a ring; under lock_
};

} // namespace comity::sync
