// Many consumers, one producer or many, last in, first out: a stack of nodes with tags. Lock-free. Proof: README.md,
// "The stack". Nothing switches.
#pragma once

#include "core/chaos.hpp"
#include "pool/arena.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::pool {

// Removable: has remove and size, for which an item is taken out of its node by an exchange, and counted.
template <class T, bool Removable = false> class stack {
public:
    using item_type = T;

    // Anybody. False: no memory.
    bool push(T *item) noexcept {
        const auto i = nodes_.allocate();
        if (i == 0) return false;
        node &n = nodes_[i];
        if constexpr (Removable) count_.fetch_add(1, std::memory_order_relaxed);
        n.item.store(item, std::memory_order_release); // release[stack-item]
        std::uint64_t top = top_.load(std::memory_order_relaxed);
        do {
            n.link.store(nodes::id_of(top), std::memory_order_relaxed);
            core::chaos_point();
        } while (!top_.compare_exchange_weak(top, nodes::tagged(top, i), std::memory_order_release,
                                             std::memory_order_relaxed)); // release[stack-top]
        return true;
    }

    // Anybody. The newest item, or null.
    T *pop() noexcept {
        std::uint64_t top = top_.load(std::memory_order_acquire); // acquire[stack-top]
        while (const auto i = nodes::id_of(top)) {
            node &n = nodes_[i];
            const auto below = n.link.load(std::memory_order_relaxed);
            core::chaos_point();
            // A node that came and went meanwhile has another tag. acquire[stack-top]
            if (!top_.compare_exchange_weak(top, nodes::tagged(top, below), std::memory_order_acquire,
                                            std::memory_order_acquire))
                continue;
            if constexpr (!Removable) {
                T *item = n.item.load(std::memory_order_relaxed);
                nodes_.release(i);
                return item;
            }
            T *item = n.item.exchange(nullptr, std::memory_order_acquire); // acquire[stack-item]
            nodes_.release(i);
            if (item) {
                count_.fetch_sub(1, std::memory_order_relaxed);
                return item;
            }
            top = top_.load(std::memory_order_acquire); // acquire[stack-top]
        }
        return nullptr;
    }

    // Anybody. True: the item is the caller's. Takes time in proportion to the most that the pool has held.
    bool remove(const T *item) noexcept requires Removable {
        for (auto i = nodes_.used(); i > 0; --i) {
            T *seen = const_cast<T *>(item);
            std::atomic<T *> &at = nodes_[i].item;
            if (at.load(std::memory_order_relaxed) != seen) continue;
            if (!at.compare_exchange_strong(seen, nullptr, std::memory_order_acquire,
                                            std::memory_order_relaxed)) // acquire[stack-item]
                return false;
            count_.fetch_sub(1, std::memory_order_relaxed);
            return true;
        }
        return false;
    }
    // While nobody else uses the pool.
    template <class Function> void for_each(Function &&f) {
        for (auto i = nodes::id_of(top_.load(std::memory_order_relaxed)); i;) {
            node &n = nodes_[i];
            i = n.link.load(std::memory_order_relaxed);
            if (T *item = n.item.load(std::memory_order_relaxed)) f(item);
        }
    }

    // Anybody; a hint.
    std::size_t size() const noexcept requires Removable { return count_.load(std::memory_order_relaxed); }
    bool is_empty() const noexcept {
        return Removable ? count_.load(std::memory_order_relaxed) == 0
                         : nodes::id_of(top_.load(std::memory_order_relaxed)) == 0;
    }

private:
    struct node : sys::in_own_memory {
        std::atomic<std::uint32_t> link{0}; // the node below; whoever pushes it. Of a free node: the arena's
        std::atomic<T *> item{nullptr};     // null: it was removed
    };
    using nodes = arena<node, 6, 32>;

    nodes nodes_;
    alignas(64) std::atomic<std::uint64_t> top_{0}; // tag and number; anybody
    std::atomic<std::size_t> count_{0};             // anybody; raised before the item is there
};

} // namespace comity::pool
