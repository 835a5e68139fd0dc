// 256 levels by T::priority, the highest first, and first in, first out within a level: a queue for each level that is
// in use, and a bit for each that may hold something. As lock-free as the queues are. Proof: README.md, "Priority".
// Nothing switches.
#pragma once

#include "core/chaos.hpp"
#include "pool/private.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"
#include "sys/own_memory.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace comity::pool {

// A set of levels. Shared: whoever changes it does so atomically; else by loads and stores.
template <bool Shared> class level_set {
public:
    bool has(unsigned p) const noexcept { return word_[p / 64].load(std::memory_order_relaxed) & bit(p); }
    void add(unsigned p) noexcept {
        if constexpr (Shared)
            word_[p / 64].fetch_or(bit(p), std::memory_order_relaxed);
        else
            word_[p / 64].store(word_[p / 64].load(std::memory_order_relaxed) | bit(p), std::memory_order_relaxed);
    }
    void drop(unsigned p) noexcept {
        if constexpr (Shared)
            word_[p / 64].fetch_and(~bit(p), std::memory_order_relaxed);
        else
            word_[p / 64].store(word_[p / 64].load(std::memory_order_relaxed) & ~bit(p), std::memory_order_relaxed);
    }
    // The highest level in it that is below `limit` (at most 256), or -1.
    int highest(unsigned limit = 256) const noexcept {
        for (unsigned i = (limit + 63) / 64; i-- > 0;) {
            std::uint64_t w = word_[i].load(std::memory_order_relaxed);
            if (limit - i * 64 < 64) w &= bit(limit) - 1;
            if (w) return static_cast<int>(i * 64 + 63 - static_cast<unsigned>(std::countl_zero(w)));
        }
        return -1;
    }

private:
    static constexpr std::uint64_t bit(unsigned p) noexcept { return std::uint64_t{1} << p % 64; }
    std::array<std::atomic<std::uint64_t>, 4> word_{};
};

// For one user at a time: the levels' lists lie here, and a bit says exactly which of them hold something.
template <class T> class private_priority {
public:
    using item_type = T;

    bool push(T *item) noexcept {
        const unsigned p = item->rank();
        levels_[p].push_back(item);
        filled_.add(p);
        count_.add(1);
        return true;
    }
    T *pop() noexcept {
        const int p = filled_.highest();
        if (p < 0) return nullptr;
        T *item = levels_[static_cast<unsigned>(p)].pop_front();
        settle(static_cast<unsigned>(p));
        return item;
    }
    bool remove(const T *item) noexcept {
        // Its priority may have been changed meanwhile.
        for (int p = filled_.highest(); p >= 0; p = filled_.highest(static_cast<unsigned>(p)))
            if (levels_[static_cast<unsigned>(p)].remove(item)) {
                settle(static_cast<unsigned>(p));
                return true;
            }
        return false;
    }
    template <class Function> void for_each(Function &&f) {
        for (int p = filled_.highest(); p >= 0; p = filled_.highest(static_cast<unsigned>(p)))
            levels_[static_cast<unsigned>(p)].for_each(f);
    }
    std::size_t size() const noexcept { return count_.get(); }
    bool is_empty() const noexcept { return size() == 0; }

private:
    void settle(unsigned p) noexcept { // an item has left the level
        count_.sub(1);
        if (levels_[p].empty()) filled_.drop(p);
    }

    level_set<false> filled_;
    sys::own_count<std::size_t> count_;
    std::array<sys::linked_list<T>, 256> levels_;
};

// Over queues that several may use: Queue is one of this folder's, and says who may be at which side.
template <class Queue> class shared_priority {
public:
    using item_type = typename Queue::item_type;

    shared_priority() noexcept = default;
    shared_priority(const shared_priority &) = delete;
    shared_priority &operator=(const shared_priority &) = delete;
    ~shared_priority() {
        for (auto &level : levels_) delete level.load(std::memory_order_relaxed);
    }

    // Producers. False: no memory.
    bool push(item_type *item) noexcept {
        const unsigned p = item->rank();
        Queue *q = level(p);
        if (!q) q = make_level(p);
        if (!q || !q->push(item)) return false;
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[priority-level]
        core::chaos_point();
        if (!filled_.has(p)) filled_.add(p);
        return true;
    }

    // Consumers. An item of the highest level that holds one; null only if no push that has returned is left.
    item_type *pop() noexcept {
        for (int p; (p = filled_.highest()) >= 0;) {
            const auto at = static_cast<unsigned>(p);
            if (item_type *item = level(at)->pop()) return item;
            filled_.drop(at);
            std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[priority-level]
            core::chaos_point();
            if (level(at)->poppable()) filled_.add(at);
        }
        // Another consumer may be between the two lines above, and what it will find is to be had all the same.
        return sweep([](Queue &q) noexcept { return q.pop(); });
    }

    // As the queues' remove.
    bool remove(const item_type *item) noexcept requires requires(Queue &q) { q.remove(item); }
    {
        return sweep([item](Queue &q) noexcept { return q.remove(item); });
    }
    template <class Function> void for_each(Function &&f) {
        sweep([&f](Queue &q) {
            q.for_each(f);
            return false;
        });
    }
    // Anybody; a hint.
    std::size_t size() const noexcept {
        std::size_t n = 0;
        sweep([&n](const Queue &q) noexcept {
            n += q.size();
            return false;
        });
        return n;
    }
    bool is_empty() const noexcept {
        return !sweep([](const Queue &q) noexcept { return !q.is_empty(); });
    }

private:
    struct made_queue : Queue, sys::in_own_memory {};

    made_queue *level(unsigned p) const noexcept {
        return levels_[p].load(std::memory_order_acquire); // acquire[priority-queue]
    }
    made_queue *make_level(unsigned p) noexcept {
        auto *made = new (std::nothrow) made_queue;
        if (!made) return level(p);
        used_.add(p); // before anybody can push there
        made_queue *other = nullptr;
        if (!levels_[p].compare_exchange_strong(other, made, std::memory_order_acq_rel,
                                                std::memory_order_acquire)) { // acq_rel[priority-queue]
            delete made;
            return other;
        }
        return made;
    }
    // Calls f for each queue from the top until it returns something.
    template <class Function> auto sweep(Function &&f) const {
        for (int p = used_.highest(); p >= 0; p = used_.highest(static_cast<unsigned>(p)))
            if (Queue *q = level(static_cast<unsigned>(p)))
                if (auto found = f(*q)) return found;
        return decltype(f(*level(0))){};
    }

    level_set<true> filled_; // the levels that may hold something; producers add, consumers drop and add again
    level_set<true> used_;   // those that have a queue, or are about to; producers
    std::array<std::atomic<made_queue *>, 256> levels_{}; // null → made, by producers
};

} // namespace comity::pool
