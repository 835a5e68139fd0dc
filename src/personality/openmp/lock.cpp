#include "personality/openmp/lock.hpp"

#include "core/spinlock.hpp"
#include "sync/lock_spin.hpp"
#include "sync/wait_list.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

namespace comity::openmp {
namespace {

// Somebody who waits for a lock; lives on the waiter's stack.
struct waiter {
    const void *lock;
    waiter *next = nullptr;
    std::atomic<bool> woken{false};
    sync::wait_list changed;
};

struct alignas(64) bucket {
    core::spinlock lock; // guards the list
    waiter *first = nullptr, *last = nullptr;
};

bucket table[256];

bucket &bucket_of(const void *lock) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(lock);
    return table[(address >> 2 ^ address >> 10 ^ address >> 18) % 256];
}

void append(bucket &b, waiter &w) noexcept {
    (b.last ? b.last->next : b.first) = &w;
    b.last = &w;
}

// Takes the one who waits longest for the lock out of the list. `more`: does anybody else wait for it?
waiter *take_first(bucket &b, const void *lock, bool &more) noexcept {
    waiter *previous = nullptr, *w = b.first;
    while (w && w->lock != lock) previous = w, w = w->next;
    more = false;
    if (!w) return nullptr;
    (previous ? previous->next : b.first) = w->next;
    if (b.last == w) b.last = previous;
    for (waiter *other = w->next; other && !more; other = other->next) more = other->lock == lock;
    return w;
}

// The child of a fork has no waiters, and nobody in it holds a list, whatever the other threads were at.
void empty_table() noexcept {
    for (bucket &b : table) {
        b.lock.unlock();
        b.first = b.last = nullptr;
    }
}

__attribute__((constructor)) void watch_forks() noexcept {
    if (!sys::at_fork(nullptr, nullptr, empty_table))
        sys::warn("no memory to prepare for fork: a child process may hang in a lock");
}

} // namespace

bool word_lock::try_lock(std::uint32_t holder) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    while (!(now & taken)) // acquire[word-lock]
        if (word_.compare_exchange_weak(now, holder << 2 | taken | (now & waited_for), std::memory_order_acquire,
                                        std::memory_order_relaxed))
            return true;
    return false;
}

void word_lock::lock_slowly(std::uint32_t holder) noexcept {
    sync::lock_spin spin(125);
    do
        if (try_lock(holder)) return;
    while (spin.again());
    bucket &b = bucket_of(this);
    while (!try_lock(holder)) {
        waiter me;
        me.lock = this;
        b.lock.lock();
        std::uint32_t now = word_.load(std::memory_order_relaxed);
        // Whoever leaves the lock from here on finds the bit, and me when it has the bucket.
        while ((now & taken) && !word_.compare_exchange_weak(now, now | waited_for, std::memory_order_relaxed)) {
        }
        if (now & taken) append(b, me);
        b.lock.unlock();
        if (!(now & taken)) continue;
        me.changed.wait([&] { return me.woken.load(std::memory_order_acquire); }); // acquire[lock-waiter]
        b.lock.lock();                                                             // who woke me has let go of me
        b.lock.unlock();
    }
}

void word_lock::unlock_slowly() noexcept {
    bucket &b = bucket_of(this);
    b.lock.lock();
    bool more;
    waiter *next = take_first(b, this, more);
    word_.store(more ? waited_for : 0, std::memory_order_release); // release[word-lock]
    // The lock's memory may be gone from here on.
    if (next) {
        next->woken.store(true, std::memory_order_release); // release[lock-waiter]
        next->changed.wake_one();
    }
    b.lock.unlock();
}

word_lock unnamed_critical, atomic_sections;

word_lock &wide_atomics(std::size_t size) noexcept {
    static word_lock of_16, of_32;
    return size > 16 ? of_32 : of_16;
}

} // namespace comity::openmp
