// A work-stealing deque (Chase and Lev, SPAA 2005, with the memory orders of Lê et al., PPoPP 2013), split into a
// public part, from which anybody steals at the top, and a private one, in which the owner, a hart, pushes and pops at
// the bottom without a fence (after van Dijk and van de Pol, Lace, MuCoCoS 2014). Proof: README.md. Nothing here
// switches.
#pragma once

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "sys/clock.hpp"
#include "sys/fence.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/own_memory.hpp"

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

namespace comity::pool {

// Did pop take the item? Perhaps: the other half of pop has to follow at once, and tells.
enum class popped : std::uint8_t { yes, perhaps, no };

template <class T> class deque {
public:
    // `shared`: may there be thieves at all? Without any, pop needs no fence.
    explicit deque(bool shared = true) noexcept
        : split_(shared ? 0 : 1),
          shared_(shared),
          fenced_(shared && !sys::fences_are_uneven.load(std::memory_order_relaxed)) {}
    deque(const deque &) = delete;
    deque &operator=(const deque &) = delete;
    ~deque() {
        for (ring *r = ring_.load(std::memory_order_relaxed); r;) {
            ring *older = r->older;
            free(r);
            r = older;
        }
    }

    // Owner. False: no memory to grow, or it is closed.
    [[gnu::always_inline]] bool push(T *item) noexcept { return push_if_room(item) || push_into_full(item); }

    // Owner. The same without growing. False: there may be room all the same.
    [[gnu::always_inline]] bool push_if_room(T *item) noexcept {
        if (!push_unpublished(item)) [[unlikely]]
            return false;
        if (!has_public()) [[unlikely]]
            publish();
        return true;
    }
    // Owner. The same in two steps, neither of which makes a call: publish() has to follow unless has_public().
    [[gnu::always_inline]] bool push_unpublished(T *item) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_relaxed);
        if (b > last_) [[unlikely]]
            return false;
        own_at(b).store(item, std::memory_order_relaxed);
        bottom_.store(b + 1, std::memory_order_release); // release[deque-bottom]
        return true;
    }
    // May thieves see an item? Exact for the owner, a hint for others. Where there are none (`shared`): of no meaning.
    [[gnu::always_inline]] bool has_public() const noexcept {
        return top_.load(std::memory_order_relaxed) < split_.load(std::memory_order_relaxed);
    }

    // Owner. Thieves may take whatever it holds.
    [[gnu::noinline]] void publish() noexcept {
        if (!shared_) return;
        enter();
        split_.store(bottom_.load(std::memory_order_relaxed), std::memory_order_release); // release[deque-split]
        leave();
    }

    // Owner. The newest item, or null.
    T *pop() noexcept {
        // The owner is a hart: what it pushed last may have come from another carrier. acquire[deque-bottom]
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1;
        if (top_.load(std::memory_order_relaxed) > b) // top only grows: certainly empty
            return nullptr;
        T *item = own_at(b).load(std::memory_order_relaxed);
        return take_newest(b) ? item : nullptr;
    }

    // Owner. Pops the newest item and returns it if it is wanted; else null, and it stays.
    template <class Wanted> [[gnu::always_inline]] T *take_if(Wanted wanted) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1; // acquire[deque-bottom]
        if (top_.load(std::memory_order_relaxed) > b) return nullptr;
        T *item = own_at(b).load(std::memory_order_relaxed);
        if (!take_newest(b)) [[unlikely]]
            return nullptr;
        if (wanted(static_cast<const T *>(item))) [[likely]]
            return item;
        push(item); // there is room: it stood there
        return nullptr;
    }
    // The same where there are no thieves (`shared`).
    template <class Wanted> [[gnu::always_inline]] T *take_alone_if(Wanted wanted) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1; // acquire[deque-bottom]
        if (top_.load(std::memory_order_relaxed) > b) return nullptr;
        T *item = own_at(b).load(std::memory_order_relaxed);
        if (!wanted(static_cast<const T *>(item))) return nullptr;
        bottom_.store(b, std::memory_order_release); // release[deque-bottom]
        return item;
    }

    // Owner. Pops the newest item if it is this one.
    [[gnu::always_inline]] bool pop_if(const T *item) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1; // acquire[deque-bottom]
        if (top_.load(std::memory_order_relaxed) > b || own_at(b).load(std::memory_order_relaxed) != item) [[unlikely]]
            return false;
        return take_newest(b);
    }
    // Owner. The same in two steps, the first of which makes no call; perhaps: settle_pop() tells.
    [[gnu::always_inline]] popped try_pop_if(const T *item) noexcept {
        const std::int64_t b = bottom_.load(std::memory_order_acquire) - 1; // acquire[deque-bottom]
        if (b < 0 || own_at(b).load(std::memory_order_relaxed) != item) [[unlikely]]
            return popped::no;
        lower_bottom(b);
        return is_private(b) ? popped::yes : popped::perhaps;
    }
    bool settle_pop() noexcept { return take_public(bottom_.load(std::memory_order_relaxed)); }

    // Owner. A closed deque takes nothing, until it is opened again: for a scheduler that keeps another order. That
    // costs push nothing, since it finds a top so old that it goes the slow way.
    void close() noexcept { seen_top_ = last_ = closed; }
    void open() noexcept { see_top(); }
    bool is_closed() const noexcept { return seen_top_ == closed; }

    // Anybody. The oldest item; null when there is none or somebody else was faster.
    T *steal() noexcept {
        return steal_if([](T *) { return true; });
    }

    // Anybody. The same if wanted(item) is true; else it stays. The item may be somebody else's by then, so `wanted`
    // may only read what can be read in any item that ever was in the deque; its answer counts only for one that is
    // still in.
    template <class Wanted> T *steal_if(Wanted wanted) noexcept {
        std::int64_t t = 0;
        if (!find_public(t) && !(publish_for_owner() && find_public(t))) return nullptr;
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
        see_top();
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
    static constexpr std::uint32_t nobody = 0; // no generation: the first process is 1
    struct ring {
        std::int64_t mask;
        ring *older; // kept until the end, where there may be thieves, one of whom may still read it
        std::atomic<T *> *places() noexcept { return reinterpret_cast<std::atomic<T *> *>(this + 1); }
        std::atomic<T *> &at(std::int64_t i) noexcept { return places()[i & mask]; }
        static std::size_t bytes(std::int64_t size) noexcept {
            return sizeof(ring) + static_cast<std::size_t>(size) * sizeof(std::atomic<T *>);
        }
    };
    static void free(ring *r) noexcept { sys::free_own(r, ring::bytes(r->mask + 1)); }

    // The owner's way to a place: what it needs of the ring stands in its own line, too.
    [[gnu::always_inline]] std::atomic<T *> &own_at(std::int64_t i) noexcept { return places_[i & mask_]; }
    void see_top() noexcept {
        seen_top_ = top_.load(std::memory_order_acquire); // acquire[deque-top]
        last_ = seen_top_ + mask_;
    }

    // ---- The owner takes

    // It has seen an item at b, the newest: false when a thief was faster. The usual case makes no call.
    [[gnu::always_inline]] bool take_newest(std::int64_t b) noexcept {
        lower_bottom(b);
        return !shared_ || is_private(b) || take_public(b);
    }
    // A thief may take an older item on the strength of this value.
    void lower_bottom(std::int64_t b) noexcept {
        bottom_.store(b, std::memory_order_release); // release[deque-bottom]
    }
    // After that: is what stood at b the owner's alone? False: perhaps.
    [[gnu::always_inline]] bool is_private(std::int64_t b) const noexcept {
        if (fenced_) [[unlikely]]
            return false;                                    // enter() makes the fence
        std::atomic_signal_fence(std::memory_order_seq_cst); // seq_cst[uneven]
        // In this order: who sees that a thief has published sees what. acquire[deque-publishing]
        return publishing_.load(std::memory_order_acquire) == nobody && b >= split_.load(std::memory_order_relaxed);
    }

    // It may be public: of what is, the owner takes the newer half back at once.
    [[gnu::noinline]] bool take_public(std::int64_t b) noexcept {
        if (!shared_) return true;
        enter();
        bool taken = true;
        if (b < split_.load(std::memory_order_relaxed)) {
            const std::int64_t seen = top_.load(std::memory_order_relaxed), keep = seen + (b - seen) / 2;
            split_.store(keep, std::memory_order_release);    // release[deque-split], as bottom above
            sys::store_load_fence(std::memory_order_seq_cst); // seq_cst[deque-ends]
            core::chaos_point();
            const std::int64_t t = top_.load(std::memory_order_relaxed);
            if (t >= keep) taken = take_beside_thieves(b, t);
        }
        leave();
        return taken;
    }

    // Thieves may be about to take the item at t, and no later one.
    bool take_beside_thieves(std::int64_t b, std::int64_t t) noexcept {
        if (t < b) {
            split_.store(t + 1, std::memory_order_release); // release[deque-split]
            return true;
        }
        const bool taken = t == b && top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                                                  std::memory_order_relaxed); // seq_cst[deque-top]
        bottom_.store(b + 1, std::memory_order_release);                                      // release[deque-bottom]
        split_.store(b + 1, std::memory_order_release);                                       // release[deque-split]
        return taken;
    }

    // ---- What is private becomes public

    // The owner is about to move `split`; not while a thief does, and the other way round. Marks that were made before
    // a fork of the process are nobody's in the child.
    void enter() noexcept {
        for (;;) {
            const std::uint32_t now = core::generation();
            busy_.store(now, std::memory_order_relaxed);
            sys::light_fence();
            std::uint32_t who = publishing_.load(std::memory_order_acquire); // acquire[deque-publishing]
            if (who == nobody) return;
            if (who != now) publishing_.compare_exchange_strong(who, nobody, std::memory_order_relaxed);
            leave();
            for (unsigned i = 0; publishing_.load(std::memory_order_relaxed) == now; ++i) wait_a_little(i);
        }
    }
    void leave() noexcept { busy_.store(nobody, std::memory_order_release); } // release[deque-busy]

    // Anybody. Is there something to steal, and where?
    bool find_public(std::int64_t &t) noexcept {
        t = top_.load(std::memory_order_acquire);            // acquire[deque-top]
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[deque-ends]
        core::chaos_point();
        if (!shared_) return t < bottom_.load(std::memory_order_relaxed);
        return t < split_.load(std::memory_order_acquire); // acquire[deque-split]
    }

    // A thief that finds nothing public. Mostly the owner's next push publishes all there is; an owner that does
    // something else meanwhile is not waited for. False: there is nothing, or another thief does this already.
    [[gnu::noinline]] bool publish_for_owner() noexcept {
        constexpr unsigned patience = 50;
        if (empty() || !shared_) return false;
        for (unsigned i = 0; i < patience; ++i) { // without a look at the owner's line, which would delay it
            if (has_public()) return true;
            sys::cpu_relax();
        }
        if (empty()) return false;
        const std::uint32_t now = core::generation();
        if (publishing_.exchange(now, std::memory_order_acquire) == now) return false; // acquire[deque-publishing]
        sys::heavy_fence();
        for (unsigned i = 0; busy_.load(std::memory_order_acquire) == now; ++i) wait_a_little(i); // acquire[deque-busy]
        core::chaos_point();
        // The owner takes nothing from now on, and what it has taken is seen: bottom does not fall.
        const std::int64_t s = split_.load(std::memory_order_relaxed),
                           b = bottom_.load(std::memory_order_acquire);          // acquire[deque-bottom]
        if (b > s) split_.store(s + (b - s + 1) / 2, std::memory_order_release); // release[deque-split]
        publishing_.store(nobody, std::memory_order_release);                    // release[deque-publishing]
        return b > s;
    }

    static void wait_a_little(unsigned i) noexcept { i % 256 == 255 ? sys::yield_kernel_thread() : sys::cpu_relax(); }

    [[gnu::noinline]] bool push_into_full(T *item) noexcept {
        if (is_closed()) return false;
        const std::int64_t b = bottom_.load(std::memory_order_relaxed);
        see_top();
        if (b > last_ && !grow(ring_.load(std::memory_order_relaxed), b)) return false;
        return push(item);
    }

    // old: null before the first push.
    bool grow(ring *old, std::int64_t b) noexcept {
        const std::int64_t size = old ? 2 * (old->mask + 1) : 256;
        void *memory = sys::allocate_own(ring::bytes(size));
        if (!memory) return false;
        auto *r = new (memory) ring{size - 1, old};
        for (std::int64_t i = 0; i < size; ++i) new (&r->at(i)) std::atomic<T *>(nullptr);
        for (std::int64_t i = seen_top_; old && i < b; ++i)
            r->at(i).store(old->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        ring_.store(r, std::memory_order_release); // release[deque-ring]
        places_ = r->places();
        mask_ = r->mask;
        last_ = seen_top_ + mask_;
        if (!shared_ && old) free(std::exchange(r->older, nullptr));
        return true;
    }

    alignas(64) std::atomic<std::int64_t> top_{0}; // raised by whoever takes the oldest item
    // What is older is public; moved by the owner, or who publishes for it. Without thieves 1, so that push finds
    // nothing to publish.
    std::atomic<std::int64_t> split_;
    std::atomic<std::uint32_t> publishing_{nobody};   // the generation of a thief that publishes for the owner
    alignas(64) std::atomic<std::int64_t> bottom_{0}; // the owner's
    std::atomic<ring *> ring_{nullptr};               // the owner's; null before the first push
    std::atomic<T *> *places_ = nullptr;              // the owner's: the ring's
    std::int64_t mask_ = -1;                          // the owner's: the ring's; at first it is full
    std::int64_t seen_top_ = 0;                       // the owner's: a value that top had
    std::int64_t last_ = -1;                          // the owner's: the last place to which it may push
    std::atomic<std::uint32_t> busy_{nobody};         // the owner moves `split`: its generation
    const bool shared_;
    const bool fenced_; // each pop needs a fence
};

} // namespace comity::pool
