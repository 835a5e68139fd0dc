// A work-stealing deque (Chase and Lev, SPAA 2005, with the memory orders of Lê et al., PPoPP 2013). One owner, which
// is a hart, pushes and pops at the bottom; anybody steals at the top. Proof: README.md. Nothing here switches.
#pragma once

#include "core/chaos.hpp"

#include <atomic>
#include <cstdint>
#include <new>

namespace comity::pool {

template <class T> class deque {
public:
    // `shared`: may there be thieves at all? Without any, pop needs no fence.
    explicit deque(bool shared = true) noexcept : shared_(shared) {}
    deque(const deque &) = delete;
    deque &operator=(const deque &) = delete;
    ~deque() {
        for (ring *r = ring_.load(std::memory_order_relaxed); r;) {
            ring *older = r->older;
            ::operator delete(r);
            r = older;
        }
    }

    // Owner. False: no memory to grow.
    bool push(T *item) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_relaxed);
        ring *r = ring_.load(std::memory_order_relaxed);
        if (!r || b - seen_top_ > r->mask) [[unlikely]] {
            seen_top_ = top_.load(std::memory_order_acquire); // acquire[deque-top]
            if (!r || b - seen_top_ > r->mask) {
                r = grow(r, b);
                if (!r) return false;
            }
        }
        r->at(b).store(item, std::memory_order_relaxed);
        bottom_.store(b + 1, std::memory_order_release); // release[deque-bottom]
        return true;
    }

    // Owner. The newest item, or null.
    T *pop() noexcept {
        // The owner is a hart: what it pushed last may have come from another carrier. acquire[deque-bottom]
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1;
        if (top_.load(std::memory_order_relaxed) > b) // top only grows: certainly empty
            return nullptr;
        ring *r = ring_.load(std::memory_order_relaxed);
        // A thief may take an older item on the strength of this value: release[deque-bottom].
        bottom_.store(b, std::memory_order_release);
        if (shared_) std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[deque-ends]
        core::chaos_point();
        std::int64_t t = top_.load(std::memory_order_relaxed);
        T *item = nullptr;
        if (t <= b) {
            item = r->at(b).load(std::memory_order_relaxed);
            if (t < b) return item;
            // The last one: whoever moves the top has it.
            if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                              std::memory_order_relaxed)) // seq_cst[deque-top]
                item = nullptr;
        }
        bottom_.store(b + 1, std::memory_order_release); // release[deque-bottom]
        return item;
    }

    // Owner. Pops the newest item if it is this one.
    bool pop_if(const T *item) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1; // acquire[deque-bottom]
        ring *r = ring_.load(std::memory_order_relaxed);
        if (top_.load(std::memory_order_relaxed) > b || r->at(b).load(std::memory_order_relaxed) != item) return false;
        if (shared_) return pop() != nullptr;
        bottom_.store(b, std::memory_order_release); // release[deque-bottom]
        return true;
    }

    // Anybody. The oldest item; null when there is none or somebody else was faster.
    T *steal() noexcept {
        std::int64_t t = top_.load(std::memory_order_acquire); // acquire[deque-top]
        std::atomic_thread_fence(std::memory_order_seq_cst);   // seq_cst[deque-ends]
        core::chaos_point();
        const std::int64_t b = bottom_.load(std::memory_order_acquire); // acquire[deque-bottom]
        if (t >= b) return nullptr;
        T *item = ring_.load(std::memory_order_acquire)->at(t).load(std::memory_order_relaxed); // acquire[deque-ring]
        core::chaos_point();
        if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                          std::memory_order_relaxed)) // seq_cst[deque-top]
            return nullptr;
        return item;
    }

    // Anybody; a hint.
    bool empty() const noexcept {
        return top_.load(std::memory_order_relaxed) >= bottom_.load(std::memory_order_relaxed);
    }

private:
    struct ring {
        std::int64_t mask;
        ring *older; // kept until the end: a thief may still read it
        std::atomic<T *> &at(std::int64_t i) noexcept {
            return reinterpret_cast<std::atomic<T *> *>(this + 1)[i & mask];
        }
    };

    ring *grow(ring *old, std::int64_t b) noexcept {
        const std::int64_t size = old ? 2 * (old->mask + 1) : 256;
        void *memory =
            ::operator new(sizeof(ring) + static_cast<std::size_t>(size) * sizeof(std::atomic<T *>), std::nothrow);
        if (!memory) return nullptr;
        auto *r = new (memory) ring{size - 1, old};
        for (std::int64_t i = 0; i < size; ++i) new (&r->at(i)) std::atomic<T *>(nullptr);
        for (std::int64_t i = seen_top_; old && i < b; ++i)
            r->at(i).store(old->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        ring_.store(r, std::memory_order_release); // release[deque-ring]
        return r;
    }

    alignas(64) std::atomic<std::int64_t> top_{0};    // raised by whoever takes the oldest item
    alignas(64) std::atomic<std::int64_t> bottom_{0}; // the owner's
    std::atomic<ring *> ring_{nullptr};               // the owner's
    std::int64_t seen_top_ = 0;                       // the owner's: a value that top had
    bool shared_;
};

} // namespace comity::pool
