#include "core/timer.hpp"

#include "core/binding.hpp"
#include "core/chaos.hpp"
#include "core/cpu_time.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

#include <atomic>
#include <new>
#include <utility>

namespace comity::core {

// ---- The heap. `rank` is the length of the right spine, which is the shorter one, so at most log2(n).

namespace {
std::uint32_t rank_of(const timer *t) noexcept { return t ? t->rank : 0; }

// Restores the order of the children and the rank; false: the rank is as it was.
bool adjust(timer *t) noexcept {
    if (rank_of(t->left) < rank_of(t->right)) std::swap(t->left, t->right);
    const std::uint32_t rank = rank_of(t->right) + 1;
    return std::exchange(t->rank, rank) != rank;
}
} // namespace

// Down the right spines, then up again.
timer *timer_heap::merge(timer *a, timer *b) noexcept {
    timer *at = nullptr;
    while (a && b) {
        if (b->at < a->at) std::swap(a, b);
        a->up = at;
        if (at) at->right = a;
        at = a;
        a = a->right;
    }
    timer *rest = a ? a : b;
    for (; at; at = at->up) {
        at->right = rest;
        if (rest) rest->up = at;
        adjust(at);
        rest = at;
    }
    return rest;
}

void timer_heap::add(timer *t) noexcept {
    t->rank = 1;
    t->up = t->left = t->right = nullptr;
    top_ = merge(top_, t);
}

void timer_heap::remove(timer *t) noexcept {
    timer *up = t->up, *rest = merge(t->left, t->right);
    if (rest) rest->up = up;
    if (!up) {
        top_ = rest;
        return;
    }
    (up->left == t ? up->left : up->right) = rest;
    while (up && adjust(up)) up = up->up; // each step raises the rank, so these are at most log2(n) as well
}

// ---- The thread

namespace {

constexpr std::int64_t awake = INT64_MIN; // the thread will look at the heap before it sleeps
constexpr unsigned batch = 32;            // deadlines that are served under one hold of the lock
constexpr std::size_t stack_size = std::size_t{256} << 10;

enum class thread_state : std::uint8_t { none, starting, there };
std::atomic<thread_state> state{thread_state::none}; // by whoever starts it; none: also in a forked child
std::atomic<bool> is_to_end{false};                  // the thread, which takes it back when it does

spinlock lock;
timer_heap heap;                    // under lock
std::int64_t sleeps_until = awake;  // under lock
std::atomic<std::uint32_t> bell{0}; // rung for an earlier deadline than that; written under lock

// What a timer's owner does there is no thread's CPU time; the mark stays as far behind as it was.
void serve_longer(timer *first, std::int64_t &mark) noexcept {
    if (!first) return;
    const std::int64_t before = cpu_since(mark);
    while (timer *t = first) {
        first = t->up;
        t->serve(t);
    }
    static_cast<void>(cpu_since(mark));
    mark -= mark < 0 ? 0 : before;
}

// Serves deadlines that have passed. Returns false and the earliest one when none has.
bool serve(std::int64_t &next, std::uint32_t &rung, std::int64_t &mark) noexcept {
    context_list woken;
    timer *longer = nullptr; // linked by `up`
    const std::int64_t now = sys::now_ns();
    unsigned served = 0;
    lock.lock();
    for (timer *t; served < batch && (t = heap.earliest()) && t->at <= now; ++served) {
        heap.remove(t);
        t->queued = false;
        if (t->serve) {
            t->up = std::exchange(longer, t);
        } else if (context *c = t->expired(t)) {
            woken.push_back(c);
        }
    }
    next = heap.earliest() ? heap.earliest()->at : sys::no_deadline;
    sleeps_until = served ? awake : next;
    rung = bell.load(std::memory_order_relaxed);
    lock.unlock();
    charge_wakes(woken.first(), mark);
    unblock_all(woken.first());
    serve_longer(longer, mark);
    return served;
}

// The thread ends; deadlines stay.
void leave() noexcept {
    while (state.load(std::memory_order_relaxed) != thread_state::there) sys::yield_kernel_thread(); // its maker's
    lock.lock();
    sleeps_until = awake; // nobody rings: who sets a deadline finds no thread, or the one who has ended this one looks
    lock.unlock();
    state.store(thread_state::none, std::memory_order_release); // release[timers-start]
    is_to_end.store(false, std::memory_order_release);          // release[timers-end]
}

void *timers_main(void *) {
    sys::name_kernel_thread("comity-timers");
    serve_deadlines();
    run_anywhere();
    note_awake();
    for (std::int64_t mark = no_cpu_mark;;) {
        std::int64_t next = 0;
        std::uint32_t rung = 0;
        while (serve(next, rung, mark)) chaos_point();
        note_asleep();
        if (is_to_end.load(std::memory_order_relaxed)) {
            leave();
            return nullptr;
        }
        static_cast<void>(sys::futex_wait(bell, rung, next));
        note_awake();
    }
}

// ---- Fork: the child has no such thread, but may have deadlines.

// Handlers that were registered when a fork had begun are not called around it, so each notes that it will be. By who
// forks, for good, also in the child.
std::atomic<bool> is_held{false}, is_started_again{false};

bool start_thread() noexcept {
    state.store(thread_state::starting, std::memory_order_relaxed);
    const bool started = sys::start_kernel_thread(timers_main, nullptr, stack_size) == 0;
    state.store(started ? thread_state::there : thread_state::none, std::memory_order_release); // release[timers-start]
    return started;
}

bool ensure_thread() noexcept;
void start_again() noexcept {
    lock.lock();
    const bool any = heap.earliest();
    lock.unlock();
    if (any) ensure_thread();
}

void before_fork() noexcept {
    lock.lock();
    is_held.store(true, std::memory_order_relaxed);
}
void parent_after_fork() noexcept { lock.unlock(); }
void child_after_fork() noexcept {
    sleeps_until = awake;
    lock.unlock();
    state.store(thread_state::none, std::memory_order_relaxed);
    is_to_end.store(false, std::memory_order_relaxed);
}

constexpr const char *no_memory = "no memory to prepare for fork: in a child process nothing wakes at its deadline";
sys::once watching_forks, starting_again;

void watch_forks() {
    if (!sys::at_fork(before_fork, parent_after_fork, child_after_fork)) sys::warn(no_memory);
}
// With the first deadline: in a child the handlers run in the order in which they were registered, and the thread must
// find everything else in order.
void start_in_children() {
    const auto note = [] { is_started_again.store(true, std::memory_order_relaxed); };
    if (!sys::in_children(note, start_again)) sys::warn(no_memory);
}

bool ensure_thread() noexcept {
    hold_timers_in_forks();
    starting_again.run(start_in_children);
    for (;;) {
        thread_state seen = thread_state::none;
        if (state.compare_exchange_strong(seen, thread_state::starting,
                                          std::memory_order_acquire)) // acquire[timers-start]
            return start_thread();
        if (seen == thread_state::there) return true;
        sys::yield_kernel_thread(); // as long as it takes to make a kernel thread
    }
}

} // namespace

void hold_timers_in_forks() noexcept { watching_forks.run(watch_forks); }

bool arm(timer &t) noexcept {
    if (state.load(std::memory_order_acquire) != thread_state::there && // acquire[timers-start]
        !ensure_thread())
        return false;
    lock.lock();
    heap.add(&t);
    t.queued = true;
    const bool ring = t.at < sleeps_until;
    if (ring) {
        sleeps_until = t.at;
        bell.store(bell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    lock.unlock();
    chaos_point();
    if (ring) sys::futex_wake(bell);
    return true;
}

bool are_timers_there() noexcept { return state.load(std::memory_order_relaxed) == thread_state::there; }

void end_timers_thread() noexcept {
    lock.lock(); // under which the thread reads the bell: if it has rung, it sees that it is to end
    is_to_end.store(true, std::memory_order_relaxed);
    bell.store(bell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    lock.unlock();
    sys::futex_wake(bell);
    while (is_to_end.load(std::memory_order_acquire)) sys::yield_kernel_thread(); // acquire[timers-end]
}

void start_timers_again() noexcept { start_again(); }

bool is_armed_in_child(const timer &t) noexcept { return is_held.load(std::memory_order_relaxed) && t.queued; }

// Without memory for the handlers the lock may be another thread's, and the heap half changed.
void timers_after_fork() noexcept {
    const bool is_first_in_fork = !is_started_again.load(std::memory_order_relaxed); // its handlers are not called
    if (is_held.load(std::memory_order_relaxed)) return is_first_in_fork ? start_again() : void();
    new (&lock) spinlock;
    new (&heap) timer_heap;
    sleeps_until = awake;
    state.store(thread_state::none, std::memory_order_relaxed);
}

void forget_waits() noexcept {
    lock.lock();
    timer *kept = nullptr; // linked by `up`
    while (timer *t = heap.earliest()) {
        heap.remove(t);
        t->queued = false;
        if (t->serve) t->up = std::exchange(kept, t);
    }
    while (timer *t = kept) {
        kept = std::exchange(t->up, nullptr);
        heap.add(t);
        t->queued = true;
    }
    lock.unlock();
}

bool cancel(timer &t) noexcept {
    chaos_point();
    lock.lock();
    const bool queued = t.queued;
    if (queued) {
        heap.remove(&t);
        t.queued = false;
    }
    lock.unlock();
    return queued;
}

} // namespace comity::core
