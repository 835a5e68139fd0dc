// A work-stealing deque (Chase and Lev, SPAA 2005, with the memory orders of Lê et al., PPoPP 2013). One owner, which
// is a hart, pushes and pops at the bottom; anybody steals at the top. Proof: README.md. Nothing here switches.
#pragma once

#include "core/chaos.hpp"
#include "sys/fence.hpp"

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace comity::pool {

template <class T> class deque {
public:
    // `shared`: may there be thieves at all? Without any, pop needs no fence.
    explicit deque(bool shared = true) noexcept : shared_(shared) {}
    deque(const deque &) = delete;
    deque &operator=(const deque &) = delete;
    ~deque() {
        for (ring *r = ring_.load(std::memory_order_relaxed); r && r != &none_;) {
            ring *older = r->older;
            ::operator delete(r);
            r = older;
        }
    }

    // Owner. False: no memory to grow, or it is closed.
    [[gnu::always_inline]] bool push(T *item) noexcept { return push_if_room(item) || push_into_full(item); }

    // Owner. The same without growing. False: there may be room all the same.
    [[gnu::always_inline]] bool push_if_room(T *item) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_relaxed);
        ring *r = ring_.load(std::memory_order_relaxed);
        if (b - seen_top_ > r->mask) [[unlikely]]
            return false;
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
        T *item = ring_.load(std::memory_order_relaxed)->at(b).load(std::memory_order_relaxed);
        return take_newest(b) ? item : nullptr;
    }

    // Owner. Pops the newest item if it is this one.
    [[gnu::always_inline]] bool pop_if(const T *item) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1; // acquire[deque-bottom]
        if (top_.load(std::memory_order_relaxed) > b ||
            ring_.load(std::memory_order_relaxed)->at(b).load(std::memory_order_relaxed) != item) [[unlikely]]
            return false;
        return take_newest(b);
    }

    // Owner. A closed deque takes nothing, until it is opened again: for a scheduler that keeps another order. That
    // costs push nothing, since it finds a top so old that it goes the slow way.
    void close() noexcept { seen_top_ = closed; }
    void open() noexcept { seen_top_ = top_.load(std::memory_order_acquire); } // acquire[deque-top]
    bool is_closed() const noexcept { return seen_top_ == closed; }

    // Anybody. The oldest item; null when there is none or somebody else was faster.
    T *steal() noexcept {
        return steal_if([](T *) { return true; });
    }

    // Anybody. The same if wanted(item) is true; else it stays. The item may be somebody else's by then, so `wanted`
    // may only read what can be read in any item that ever was in the deque; its answer counts only for one that is
    // still in.
    template <class Wanted> T *steal_if(Wanted wanted) noexcept {
        std::int64_t t = top_.load(std::memory_order_acquire); // acquire[deque-top]
        std::atomic_thread_fence(std::memory_order_seq_cst);   // seq_cst[deque-ends]
        core::chaos_point();
        const std::int64_t b = bottom_.load(std::memory_order_acquire); // acquire[deque-bottom]
        if (t >= b) return nullptr;
        T *item = ring_.load(std::memory_order_acquire)->at(t).load(std::memory_order_relaxed); // acquire[deque-ring]
        core::chaos_point();
        if (!wanted(item)) return nullptr;
        if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                          std::memory_order_relaxed)) // seq_cst[deque-top]
            return nullptr;
        return item;
    }

    // The owner: has no thief taken anything since the owner looked last?
    bool is_untouched() const noexcept { return top_.load(std::memory_order_relaxed) == seen_top_; }
    // The owner: how many it holds, or more: thieves may have taken some since the owner looked last. look() looks.
    std::int64_t most_size() const noexcept { return bottom_.load(std::memory_order_relaxed) - seen_top_; }
    std::int64_t look() noexcept {
        seen_top_ = top_.load(std::memory_order_acquire); // acquire[deque-top]
        return most_size();
    }
    // Anybody; a hint.
    std::int64_t size() const noexcept {
        return bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
    }
    bool empty() const noexcept {
        return top_.load(std::memory_order_relaxed) >= bottom_.load(std::memory_order_relaxed);
    }

private:
    static constexpr std::int64_t closed = INT64_MIN / 2;
    struct ring {
        std::int64_t mask;
        ring *older; // kept until the end, where there may be thieves, one of whom may still read it
        std::atomic<T *> &at(std::int64_t i) noexcept {
            return reinterpret_cast<std::atomic<T *> *>(this + 1)[i & mask];
        }
    };

    // The owner has seen an item at b, the newest: false when a thief was faster. The usual case makes no call.
    [[gnu::always_inline]] bool take_newest(std::int64_t b) noexcept {
        // A thief may take an older item on the strength of this value: release[deque-bottom].
        bottom_.store(b, std::memory_order_release);
        if (!shared_) return true;
        sys::store_load_fence(std::memory_order_seq_cst); // seq_cst[deque-ends]
        if (!core::is_chaos() && top_.load(std::memory_order_relaxed) < b) [[likely]]
            return true;
        return take_last(b);
    }

    // It may be the last one: then whoever moves the top has it.
    [[gnu::noinline]] bool take_last(std::int64_t b) noexcept {
        core::chaos_point();
        std::int64_t t = top_.load(std::memory_order_relaxed);
        if (t < b) return true;
        const bool taken = t == b && top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                                                  std::memory_order_relaxed); // seq_cst[deque-top]
        bottom_.store(b + 1, std::memory_order_release);                                      // release[deque-bottom]
        return taken;
    }

    [[gnu::noinline]] bool push_into_full(T *item) noexcept {
        if (is_closed()) return false;
        const std::int64_t b = bottom_.load(std::memory_order_relaxed);
        ring *r = ring_.load(std::memory_order_relaxed);
        seen_top_ = top_.load(std::memory_order_acquire); // acquire[deque-top]
        if (b - seen_top_ > r->mask) {
            r = grow(r == &none_ ? nullptr : r, b);
            if (!r) return false;
        }
        return push(item);
    }

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
        if (!shared_) ::operator delete(std::exchange(r->older, nullptr));
        return r;
    }

    alignas(64) std::atomic<std::int64_t> top_{0};    // raised by whoever takes the oldest item
    alignas(64) std::atomic<std::int64_t> bottom_{0}; // the owner's
    std::atomic<ring *> ring_{&none_};                // the owner's
    std::int64_t seen_top_ = 0;                       // the owner's: a value that top had
    bool shared_;
    ring none_{-1, nullptr}; // before the first push: full
};

} // namespace comity::pool
