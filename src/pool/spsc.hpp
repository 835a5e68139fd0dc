// One producer, one consumer, first in, first out: segments of slots, linked as they are needed, and one drained
// segment that goes back to the producer. Both sides are wait-free but for memory. Proof: README.md, "SPSC". Nothing
// switches.
#pragma once

#include "core/chaos.hpp"
#include "sys/own_count.hpp"
#include "sys/own_memory.hpp"

#include <atomic>
#include <cstddef>
#include <new>

namespace comity::pool {

template <class T> class spsc_fifo {
public:
    using item_type = T;

    spsc_fifo() noexcept = default;
    spsc_fifo(const spsc_fifo &) = delete;
    spsc_fifo &operator=(const spsc_fifo &) = delete;
    ~spsc_fifo() {
        delete spare_.load(std::memory_order_relaxed);
        for (link *l = front_; l;) {
            segment *next = l->next.load(std::memory_order_relaxed);
            if (l != &before_) delete static_cast<segment *>(l);
            l = next;
        }
    }

    // Producer. False: no memory.
    bool push(T *item) noexcept {
        if (filled_ == slots) [[unlikely]] {
            segment *s = fresh_segment();
            if (!s) return false;
            pushed_.add(1);
            s->slot[0].store(item, std::memory_order_relaxed);
            back_->next.store(s, std::memory_order_release); // release[spsc-link]
            back_ = s;
            filled_ = 1;
        } else {
            pushed_.add(1);
            static_cast<segment *>(back_)->slot[filled_++].store(item, std::memory_order_release); // release[spsc-slot]
        }
        return true;
    }

    // Consumer. The oldest item, or null.
    T *pop() noexcept {
        for (;;) {
            if (emptied_ == slots && !go_on()) return nullptr;
            std::atomic<T *> &slot = static_cast<segment *>(front_)->slot[emptied_];
            T *item = slot.load(std::memory_order_acquire); // acquire[spsc-slot]
            if (!item) return nullptr;
            slot.store(nullptr, std::memory_order_relaxed); // seen by the producer with the whole segment
            ++emptied_;
            if (item == hole()) continue;
            popped_.add(1);
            return item;
        }
    }

    // Consumer. Would a pop find something, if only a hole?
    bool poppable() const noexcept {
        if (emptied_ == slots) return front_->next.load(std::memory_order_relaxed) != nullptr;
        return static_cast<const segment *>(front_)->slot[emptied_].load(std::memory_order_relaxed) != nullptr;
    }

    // Consumer. The slots between the two ends are its own. Takes time in proportion to the size.
    bool remove(const T *item) noexcept {
        return find([item](T *i) noexcept { return i == item; });
    }
    // Consumer.
    template <class Function> void for_each(Function &&f) {
        find([&f](T *i) {
            if (i != hole()) f(i);
            return false;
        });
    }

    // Anybody; a hint.
    std::size_t size() const noexcept {
        const std::size_t gone = popped_.get(), come = pushed_.get();
        return come > gone ? come - gone : 0;
    }
    bool is_empty() const noexcept { return size() == 0; }

private:
    static constexpr unsigned slots = 510; // a segment has 4 KiB

    struct segment;
    struct link : sys::in_own_memory {
        std::atomic<segment *> next{nullptr}; // the producer's
    };
    struct segment : link {
        std::atomic<T *> slot[slots]{}; // null → item by the producer, item → null by the consumer
    };
    static T *hole() noexcept { return reinterpret_cast<T *>(1); } // an item was here and has been removed

    segment *fresh_segment() noexcept {
        segment *s = spare_.load(std::memory_order_acquire); // acquire[spsc-spare]
        if (!s) return new (std::nothrow) segment;
        s->next.store(nullptr, std::memory_order_relaxed);
        spare_.store(nullptr, std::memory_order_relaxed); // the consumer writes only over null
        return s;
    }

    // Consumer: to the segment after the one that it has emptied. False: there is none.
    bool go_on() noexcept {
        segment *next = front_->next.load(std::memory_order_acquire); // acquire[spsc-link]
        if (!next) return false;
        core::chaos_point();
        link *old = front_;
        front_ = next;
        emptied_ = 0;
        if (old == &before_) return true;
        if (!spare_.load(std::memory_order_relaxed))
            spare_.store(static_cast<segment *>(old), std::memory_order_release); // release[spsc-spare]
        else
            delete static_cast<segment *>(old);
        return true;
    }

    // The first item that `is` accepts is replaced by a hole.
    template <class Is> bool find(Is &&is) {
        unsigned i = emptied_;
        for (link *l = front_; l; l = l->next.load(std::memory_order_acquire), i = 0) { // acquire[spsc-link]
            for (; i < slots; ++i) {
                std::atomic<T *> &slot = static_cast<segment *>(l)->slot[i];
                T *item = slot.load(std::memory_order_acquire); // acquire[spsc-slot]
                if (!item) return false;
                if (!is(item)) continue;
                slot.store(hole(), std::memory_order_relaxed);
                popped_.add(1);
                return true;
            }
        }
        return false;
    }

    link before_;                       // stands before the first segment, all its slots filled and emptied
    alignas(64) link *back_ = &before_; // the producer's, with the two below
    unsigned filled_ = slots;
    sys::own_count<std::size_t> pushed_; // raised before the item is there
    alignas(64) link *front_ = &before_; // the consumer's, with the two below
    unsigned emptied_ = slots;
    sys::own_count<std::size_t> popped_;
    alignas(64) std::atomic<segment *> spare_{nullptr}; // null → segment by the consumer, back by the producer
};

} // namespace comity::pool
