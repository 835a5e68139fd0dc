// Many consumers, one producer or many, first in, first out: an endless array of cells, of which the segments in use
// are there. Lock-free. Proof: README.md, "SPMC and MPMC". Nothing switches.
#pragma once

#include "core/chaos.hpp"
#include "pool/arena.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::pool {

// Removable: has remove, for which consumers mark each cell; else they only claim positions, which is cheaper.
template <class T, bool ManyProducers, bool Removable> class array_queue {
public:
    using item_type = T;

    // Producers. False: no memory.
    bool push(T *item) noexcept {
        if constexpr (ManyProducers) return push_among_others(word_of(item));
        const position t = tail_.load(std::memory_order_relaxed);
        if (t % cells == 0 && !next_segment(t >> log_cells)) return false;
        back_->cell[t % cells].store(word_of(item), std::memory_order_release); // release[pool-cell]
        tail_.store(t + 1, std::memory_order_release);                          // release[pool-tail]
        return true;
    }

    // Anybody. The oldest item, or null.
    T *pop() noexcept {
        if constexpr (Removable) return front<true>();
        for (view v; look(v);) {
            core::chaos_point();
            // Nothing comes to a cell before the head, and its segment stays while the head is there.
            // acq_rel[pool-head]
            if (head_.compare_exchange_strong(v.at, v.at + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
                return item_of(v.seen);
        }
        return nullptr;
    }

    // Anybody. True: the item is the caller's. Takes time in proportion to the most that the pool has held.
    bool remove(const T *item) noexcept requires Removable {
        for (typename segments::id i = segments_.used(); i > 0; --i)
            for (auto &cell : segments_[i].cell) {
                std::uint64_t seen = word_of(item);
                if (cell.load(std::memory_order_relaxed) != seen) continue;
                if (!cell.compare_exchange_strong(seen, hole, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) // acq_rel[pool-cell]
                    return false;
                holes_.fetch_add(1, std::memory_order_relaxed);
                return true;
            }
        return false;
    }
    // While nobody else uses the pool.
    template <class Function> void for_each(Function &&f) {
        tag at = head_at_.load(std::memory_order_acquire); // acquire[pool-head-segment]
        for (position p = head_.load(std::memory_order_relaxed); p < tail_.load(std::memory_order_relaxed);) {
            header &s = header_at(at);
            if (s.number.load(std::memory_order_relaxed) != p >> log_cells) {
                at = tag_of(p >> log_cells, s.next.load(std::memory_order_relaxed));
                continue;
            }
            const std::uint64_t seen = static_cast<segment &>(s).cell[p++ % cells].load(std::memory_order_relaxed);
            if (is_item(seen)) f(item_of(seen));
        }
    }

    // Anybody; a hint.
    std::size_t size() const noexcept {
        const position h = head_.load(std::memory_order_relaxed), t = tail_.load(std::memory_order_relaxed);
        const std::uint64_t gone = h + holes_.load(std::memory_order_relaxed);
        return t > gone ? static_cast<std::size_t>(t - gone) : 0;
    }
    // Anybody; a hint. False while an item stays in.
    bool is_empty() const noexcept {
        if (head_.load(std::memory_order_relaxed) >= tail_.load(std::memory_order_relaxed)) return true;
        if constexpr (!Removable) return false;
        return holes_.load(std::memory_order_relaxed) != 0 && !const_cast<array_queue *>(this)->template front<false>();
    }

    // Consumers. Would a pop find something?
    bool poppable() const noexcept { return !is_empty(); }

private:
    using position = std::uint64_t; // of a cell, counted from the beginning and never used again
    using tag = std::uint64_t;      // of a segment: its arena id in the low bits, above them the low bits of its number
    static constexpr unsigned log_cells = 8, id_bits = 24;
    static constexpr position cells = 1U << log_cells;

    // A cell at p: empty(p) → an item's address → taken or hole. The segment's next: empty(number) → twice an id.
    static constexpr std::uint64_t empty(std::uint64_t p) noexcept { return p << 1 | 1; }
    static constexpr std::uint64_t taken = 0, hole = 2; // hole: taken by remove
    static bool is_item(std::uint64_t word) noexcept { return !(word & 1) && word > hole; }
    static std::uint64_t word_of(const T *item) noexcept { return reinterpret_cast<std::uint64_t>(item); }
    static T *item_of(std::uint64_t word) noexcept { return reinterpret_cast<T *>(word); }

    struct header : sys::in_own_memory {
        std::atomic<std::uint64_t> number{~std::uint64_t{0}};      // cells [number * 256, …); whoever makes it ready
        std::atomic<std::uint64_t> next{empty(~std::uint64_t{0})}; // producers
    };
    struct segment : header {
        std::atomic<std::uint32_t> link{0};
        std::atomic<std::uint64_t> cell[cells];
    };
    using segments = arena<segment, 0, id_bits>;

    static tag tag_of(std::uint64_t number, std::uint64_t next) noexcept { return number << id_bits | next >> 1; }
    static typename segments::id id_at(tag at) noexcept {
        return static_cast<typename segments::id>(at & ((tag{1} << id_bits) - 1));
    }
    header &header_at(tag at) noexcept { return id_at(at) ? segments_[id_at(at)] : before_; }

    // What a consumer has seen at the head: a cell that is not empty, as it was while its segment had this number.
    struct view {
        position at;
        header *in;
        std::uint64_t number;
        std::atomic<std::uint64_t> *cell;
        std::uint64_t seen;
    };

    // False: the pool is empty.
    bool look(view &v) noexcept {
        for (;;) {
            v.at = head_.load(std::memory_order_acquire);            // acquire[pool-head]
            const tag at = head_at_.load(std::memory_order_acquire); // acquire[pool-head-segment]
            v.in = &header_at(at);
            v.number = v.in->number.load(std::memory_order_acquire); // acquire[pool-segment]
            if (v.number != v.at >> log_cells) [[unlikely]] {
                if (v.number + 1 != v.at >> log_cells) continue;
                if (v.at >= tail_.load(std::memory_order_acquire)) return false; // acquire[pool-tail]
                leave(at, *v.in, v.number);
                continue;
            }
            v.cell = &static_cast<segment *>(v.in)->cell[v.at % cells];
            v.seen = v.cell->load(std::memory_order_acquire); // acquire[pool-cell]
            if (v.seen == empty(v.at)) return false;          // cells are filled one after the other
            if (!(v.seen & 1)) return true;                   // else the segment has been used again
        }
    }

    // The oldest item, or null; Take: it is the caller's then. What is taken or a hole is passed.
    template <bool Take> T *front() noexcept {
        for (view v; look(v);) {
            // If the segment has been used again meanwhile, the item is not the oldest.
            if (v.in->number.load(std::memory_order_relaxed) != v.number) continue;
            if (!Take && is_item(v.seen)) return item_of(v.seen);
            core::chaos_point();
            // Whoever changes an item's cell has the item; who finds it taken must see what the taker saw, the tail
            // above all. acq_rel[pool-cell], acquire[pool-cell]
            const bool mine =
                is_item(v.seen) &&
                v.cell->compare_exchange_strong(v.seen, taken, std::memory_order_acq_rel, std::memory_order_acquire);
            core::chaos_point();
            // acq_rel[pool-head]
            if (!(v.seen & 1) &&
                head_.compare_exchange_strong(v.at, v.at + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
                if (v.seen == hole) holes_.fetch_sub(1, std::memory_order_relaxed);
            }
            if (mine) return item_of(v.seen);
        }
        return nullptr;
    }

    bool push_among_others(std::uint64_t word) noexcept {
        for (;;) {
            position t = tail_.load(std::memory_order_acquire);      // acquire[pool-tail]
            const tag at = tail_at_.load(std::memory_order_acquire); // acquire[pool-tail-segment]
            header &s = header_at(at);
            const std::uint64_t number = s.number.load(std::memory_order_acquire); // acquire[pool-segment]
            if (number != t >> log_cells) {
                if (number + 1 == t >> log_cells && !extend(at, s, number)) return false;
                continue;
            }
            std::atomic<std::uint64_t> &cell = static_cast<segment &>(s).cell[t % cells];
            std::uint64_t seen = empty(t);
            core::chaos_point();
            const bool mine = cell.load(std::memory_order_relaxed) == seen &&
                              cell.compare_exchange_strong(seen, word, std::memory_order_release,
                                                           std::memory_order_relaxed); // release[pool-cell]
            core::chaos_point();
            // The cell is no longer empty, by whomever: whoever comes first raises the tail.
            tail_.compare_exchange_strong(t, t + 1, std::memory_order_release,
                                          std::memory_order_relaxed); // release[pool-tail]
            if (mine) return true;
        }
    }

    // An empty segment with this number, or 0: no memory.
    typename segments::id make_segment(std::uint64_t number) noexcept {
        const auto i = segments_.allocate();
        if (i == 0) return 0;
        segment &s = segments_[i];
        for (position p = 0; p < cells; ++p) s.cell[p].store(empty(number * cells + p), std::memory_order_relaxed);
        s.next.store(empty(number), std::memory_order_relaxed);
        s.number.store(number, std::memory_order_release); // release[pool-segment]
        return i;
    }

    // The only producer goes on to the next segment.
    bool next_segment(std::uint64_t number) noexcept {
        const auto i = make_segment(number);
        if (i == 0) return false;
        (back_ ? *back_ : before_).next.store(std::uint64_t{i} << 1, std::memory_order_release); // release[pool-next]
        back_ = &segments_[i];
        return true;
    }

    // Sees to it that the tail's segment has a successor, and that the producers go there. False: no memory.
    bool extend(tag at, header &s, std::uint64_t number) noexcept {
        std::uint64_t next = s.next.load(std::memory_order_acquire); // acquire[pool-next]
        if (next == empty(number)) {
            const auto i = make_segment(number + 1);
            if (i == 0) return s.next.load(std::memory_order_relaxed) != next;
            core::chaos_point();
            // acq_rel[pool-next], acquire[pool-next]
            if (s.next.compare_exchange_strong(next, std::uint64_t{i} << 1, std::memory_order_acq_rel,
                                               std::memory_order_acquire))
                next = std::uint64_t{i} << 1;
            else
                segments_.release(i);
        }
        if (next & 1) return true; // the segment is another one's by now
        core::chaos_point();
        tail_at_.compare_exchange_strong(at, tag_of(number + 1, next), std::memory_order_release,
                                         std::memory_order_relaxed); // release[pool-tail-segment]
        return true;
    }

    // All cells of the head's segment are taken: the consumers go to the next one, and it can be used again.
    void leave(tag at, header &s, std::uint64_t number) noexcept {
        const std::uint64_t next = s.next.load(std::memory_order_acquire); // acquire[pool-next]
        if (next & 1) return;
        core::chaos_point();
        if (head_at_.compare_exchange_strong(at, tag_of(number + 1, next), std::memory_order_acq_rel,
                                             std::memory_order_relaxed) && // acq_rel[pool-head-segment]
            id_at(at) != 0)
            segments_.release(id_at(at));
    }

    header before_; // stands before the first segment
    segments segments_;
    alignas(64) std::atomic<position> tail_{0};       // the first cell that may be empty; producers, it only grows
    std::atomic<tag> tail_at_{tag{~0ULL << id_bits}}; // the segment of the cell before it, or the next; many producers
    segment *back_ = nullptr;                         // the same for a single producer
    alignas(64) std::atomic<position> head_{0};       // the first cell that may hold an item; consumers, it only grows
    std::atomic<tag> head_at_{tag{~0ULL << id_bits}};
    std::atomic<std::uint64_t> holes_{0}; // between head and tail; written by whoever removes or passes one
};

template <class T, bool Removable = false> using spmc_fifo = array_queue<T, false, Removable>;
template <class T, bool Removable = false> using mpmc_fifo = array_queue<T, true, Removable>;

} // namespace comity::pool
