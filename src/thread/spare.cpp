#include "thread/spare.hpp"

#include "core/alone.hpp"
#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/carrier.hpp"
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "core/tls/block.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/linked_list.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"
#include "sys/stack_pool.hpp"
#include "thread/cache.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace comity {

using core::context;

namespace {

constexpr unsigned most_bare = 4096;  // of the default size that all harts together keep beside their own
constexpr unsigned most_resting = 64; // contexts that rest
constexpr int few_bare = 64;          // so many are not worth a kernel thread that frees them
constexpr unsigned batch = 8;         // contexts that are freed at once

// Contexts that all harts share, and how few there have been since the last look: so many nobody has needed.
class shared_contexts {
public:
    [[nodiscard]] unsigned size() const noexcept { return list_.size(); }
    void push_front(context *c) noexcept { list_.push_front(c); }
    void push_back(context *c) noexcept { list_.push_back(c); }
    context *pop() noexcept {
        context *c = list_.pop_front();
        least_ = std::min(least_, list_.size());
        return c;
    }
    // Begins anew to count.
    unsigned take_unneeded() noexcept { return std::exchange(least_, list_.size()); }
    void clear() noexcept { list_.clear(); }

private:
    sys::counted_list<context> list_;
    unsigned least_ = 0;
};

core::spinlock shared_lock; // over these three; held at a fork
shared_contexts full, resting, bare;

// Made and not destroyed, in use or not.
std::atomic<int> full_made{0}, bare_made{0};

template <class Contexts> unsigned take(Contexts &from, context **out, unsigned n) noexcept {
    if (from.size() == 0) return 0;
    unsigned got = 0;
    shared_lock.lock();
    while (got < n && (out[got] = from.pop())) ++got;
    shared_lock.unlock();
    return got;
}

// ---- The kernel thread that frees. It waits for locks of the program's (its allocator's, at the end of a kernel
// thread that has lent its storage), so it holds no hart then, and nobody waits for it.

std::atomic<bool> trims{false}; // whoever sets it starts the thread, which takes it away before it ends
std::atomic<std::int64_t> patience_ns{5'000'000'000};
std::atomic<std::uint32_t> is_to_end{0}; // 1: the thread, which takes it back when it does

bool has_much() noexcept {
    return full_made.load(std::memory_order_relaxed) > 0 || bare_made.load(std::memory_order_relaxed) > few_bare;
}

void free_bare(context **some, unsigned n) noexcept {
    if (n == 0) return;
    core::destroy_bare_contexts(some, n);
    count_bare_contexts(-static_cast<int>(n));
}

// What an idle hart keeps, which is the caller's for the moment: those with storage become the harts' common ones, the
// bare ones are only taken out: freeing them is for later.
void empty_cache(core::hart *h, void *argument) {
    hart_cache &c = caches[h->id];
    auto &taken = *static_cast<sys::linked_list<context> *>(argument);
    if (c.generation == core::generation()) // else they are another process'
        while (context *one = c.contexts[1].pop()) share_full_contexts(&one, 1);
    for (context_list *list : {&c.contexts[0], &c.small, &c.sized})
        while (context *one = list->pop()) taken.push_back(one);
}

void free_all(sys::linked_list<context> &taken) noexcept {
    context *some[batch];
    unsigned n = 0;
    while (context *c = taken.pop_front()) {
        some[n++] = c;
        if (n == batch) free_bare(some, std::exchange(n, 0));
    }
    free_bare(some, n);
}

// As many as nobody has needed, one after the other: meanwhile somebody may need them.
template <class Free> void free_unneeded(shared_contexts &from, unsigned n, Free free) noexcept {
    context *some[batch];
    while (n != 0) {
        const unsigned got = take(from, some, std::min(n, batch));
        if (got == 0) return;
        free(some, got);
        n -= got;
    }
}

void free_full(context **some, unsigned n) noexcept {
    for (unsigned i = 0; i < n; ++i) core::destroy_context(some[i]);
    count_full_context(-static_cast<int>(n));
}

// Is there more to free later?
bool trim() noexcept {
    sys::linked_list<context> taken;
    core::base().release_from_sleepers();
    core::base().visit_idle(empty_cache, &taken);
    free_all(taken);
    shared_lock.lock();
    const unsigned of_full = full.take_unneeded(), of_resting = resting.take_unneeded(), of_bare = bare.take_unneeded();
    shared_lock.unlock();
    free_unneeded(full, of_full, free_full);
    free_unneeded(resting, of_resting, free_full);
    free_unneeded(bare, of_bare, free_bare);
    return sys::free_unneeded_stacks() || has_much();
}

void *trim_main(void *) {
    const sys::signals_blocked for_good;
    sys::name_kernel_thread("comity-trim");
    core::run_anywhere();
    do {
        for (bool more = true; more;) {
            static_cast<void>(sys::futex_wait_for(is_to_end, 0, patience_ns.load(std::memory_order_relaxed)));
            if (is_to_end.load(std::memory_order_relaxed) != 0) {
                trims.store(false, std::memory_order_relaxed);
                is_to_end.store(0, std::memory_order_release); // release[trim-ends]
                return nullptr;
            }
            core::note_awake();
            more = trim();
            core::note_asleep();
        }
        trims.store(false, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[trim]
    } while (has_much() && !trims.exchange(true, std::memory_order_relaxed));
    return nullptr;
}

// After a context was counted: either this sees that the thread is about to end, or that one sees the context.
void see_to_trim() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[trim]
    if (!has_much() || trims.load(std::memory_order_relaxed) || trims.exchange(true, std::memory_order_relaxed)) return;
    constexpr std::size_t stack_size = std::size_t{256} << 10;
    // The C library allocates, perhaps by the program's functions: the caller uses its hart's lists, and keeps it.
    core::carrier *k = core::current_carrier();
    const bool was_settled = k && std::exchange(k->settled, true);
    if (sys::start_kernel_thread(trim_main, nullptr, stack_size) != 0)
        trims.store(false, std::memory_order_relaxed); // the next one that is made tries again
    if (k) k->settled = was_settled;
}

// It may end by itself meanwhile.
void end_trim() noexcept {
    is_to_end.store(1, std::memory_order_relaxed);
    sys::futex_wake(is_to_end);
    while (is_to_end.load(std::memory_order_acquire) != 0 &&
           trims.load(std::memory_order_relaxed)) // acquire[trim-ends]
        sys::yield_kernel_thread();
    is_to_end.store(0, std::memory_order_relaxed);
}

core::helper trim_thread{[]() noexcept -> unsigned { return trims.load(std::memory_order_relaxed) ? 1 : 0; }, end_trim,
                         see_to_trim};

void count(std::atomic<int> &made, int change) noexcept {
    made.fetch_add(change, std::memory_order_relaxed);
    if (change > 0) see_to_trim();
}

// ---- Fork: kernel threads are the parent's.

void child_after_fork() noexcept {
    full.clear();
    resting.clear();
    full_made.store(0, std::memory_order_relaxed); // what the caller's own hart keeps is freed at its next use
    trims.store(false, std::memory_order_relaxed);
    is_to_end.store(0, std::memory_order_relaxed);
    shared_lock.unlock();
}

__attribute__((constructor)) void watch_forks() noexcept {
    if (!sys::at_fork([] { shared_lock.lock(); }, [] { shared_lock.unlock(); }, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not make threads of Comity's");
    core::add_helper(trim_thread);
}

} // namespace

void count_full_context(int change) noexcept { count(full_made, change); }
void count_bare_contexts(int change) noexcept { count(bare_made, change); }

unsigned take_full_contexts(context **out, unsigned n) noexcept { return take(full, out, n); }

void share_full_contexts(context *const *contexts, unsigned n) noexcept {
    shared_lock.lock();
    for (unsigned i = 0; i < n; ++i) full.push_front(contexts[i]);
    shared_lock.unlock();
}

context *let_rest(context *c) noexcept {
    shared_lock.lock();
    resting.push_back(c);
    context *rested = resting.size() > most_resting ? resting.pop() : nullptr;
    shared_lock.unlock();
    if (rested) rested->tls->id_was_told = false;
    return rested;
}

context *wake_one() noexcept {
    context *c = nullptr;
    if (take(resting, &c, 1) != 0) c->tls->id_was_told = false;
    return c;
}

unsigned take_bare_contexts(context **out, unsigned n) noexcept { return take(bare, out, n); }

bool share_bare_contexts(context *const *contexts, unsigned n) noexcept {
    if (bare.size() >= most_bare) return false;
    shared_lock.lock();
    for (unsigned i = 0; i < n; ++i) bare.push_front(contexts[i]);
    shared_lock.unlock();
    return true;
}

void set_spare_patience(std::int64_t ns) noexcept { patience_ns.store(ns, std::memory_order_relaxed); }

} // namespace comity
