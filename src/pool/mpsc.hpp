// Many producers, one consumer, through T::next: the producers push on a stack, and the consumer takes all of it at
// once. Lock-free; a push cannot fail; a pop without anything new does nothing atomic. Proof: README.md, "MPSC".
// Nothing switches.
#pragma once

#include "core/chaos.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"

#include <atomic>
#include <cstddef>

namespace comity::pool {

template <class T, bool Lifo> class mpsc_pool {
public:
    using item_type = T;

    // Anybody.
    bool push(T *item) noexcept {
        pushed_.fetch_add(1, std::memory_order_relaxed);
        item->next = newest_.load(std::memory_order_relaxed);
        while (!link(item, item->next)) core::chaos_point();
        return true;
    }
    // Anybody. The items one after the other, with no other's in between.
    std::size_t push_many(T *const *items, std::size_t n) noexcept {
        if (n == 0) return 0;
        pushed_.fetch_add(n, std::memory_order_relaxed);
        for (std::size_t i = 1; i < n; ++i) items[i]->next = items[i - 1];
        items[0]->next = newest_.load(std::memory_order_relaxed);
        while (!link(items[n - 1], items[0]->next)) core::chaos_point();
        return n;
    }

    // Consumer.
    T *pop() noexcept {
        if (Lifo || taken_.empty()) take_new();
        T *item = taken_.pop_front();
        if (item) popped_.add(1);
        return item;
    }
    // Consumer. Would a pop find something?
    bool poppable() const noexcept { return !taken_.empty() || newest_.load(std::memory_order_relaxed); }
    // Consumer. Takes time in proportion to the size.
    bool remove(const T *item) noexcept {
        take_new();
        const bool found = taken_.remove(item);
        if (found) popped_.add(1);
        return found;
    }
    // Consumer.
    template <class Function> void for_each(Function &&f) {
        take_new();
        taken_.for_each(f);
    }

    // Anybody; a hint.
    std::size_t size() const noexcept {
        const std::size_t gone = popped_.get(), come = pushed_.load(std::memory_order_relaxed);
        return come > gone ? come - gone : 0;
    }
    // Anybody; a hint. True only when no push that has returned is left.
    bool is_empty() const noexcept { return !newest_.load(std::memory_order_relaxed) && size() == 0; }

private:
    // Puts a chain, from `last` down to one whose next is `below`, on the stack. A chain that hangs on what was on top
    // when it goes there is right whatever happened in between, so it does not matter if an item came back.
    template <class Next> bool link(T *last, Next &below) noexcept {
        T *expected = static_cast<T *>(below);
        if (newest_.compare_exchange_weak(expected, last, std::memory_order_release,
                                          std::memory_order_relaxed)) // release[mpsc-push]
            return true;
        below = expected;
        return false;
    }

    void take_new() noexcept {
        if (!newest_.load(std::memory_order_relaxed)) return;
        T *item = newest_.exchange(nullptr, std::memory_order_acquire); // acquire[mpsc-push]
        if constexpr (Lifo) {
            sys::linked_list<T> all;
            for (T *below; item; item = below) {
                below = static_cast<T *>(item->next);
                all.push_back(item);
            }
            all.append(taken_);
            taken_ = all;
        } else {
            sys::linked_list<T> all;
            for (T *below; item; item = below) {
                below = static_cast<T *>(item->next);
                all.push_front(item);
            }
            taken_.append(all);
        }
    }

    alignas(64) std::atomic<T *> newest_{nullptr}; // the stack, by T::next; producers push, the consumer takes all
    std::atomic<std::size_t> pushed_{0};           // the producers', raised before the item is there
    alignas(64) sys::linked_list<T> taken_;        // the consumer's, in the order of the pops
    sys::own_count<std::size_t> popped_;           // the consumer's
};

template <class T> using mpsc_fifo = mpsc_pool<T, false>;
template <class T> using mpsc_lifo = mpsc_pool<T, true>;

} // namespace comity::pool
