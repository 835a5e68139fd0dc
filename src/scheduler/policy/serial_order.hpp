// Where the threads of a scheduler stand in the order in which one hart alone would execute them, depth first: a list
// with labels, so that which of two comes first is seen at once; and the ones among them that are ready, by that order.
#pragma once

#include "core/unit.hpp"

#include <cstdint>

namespace comity::scheduler {

// One thread's place in the order, whether it is ready, executing or blocked. Under the lock of whoever owns the order.
struct position {
    std::uint64_t label = 0;                       // smaller: further left, executed sooner
    position *left = nullptr, *right = nullptr;    // in the order
    position *child = nullptr, *sibling = nullptr; // among the ready ones; free ones by `sibling`
    unit *who = nullptr;                           // whose it is, until that ends; null: it goes when it is picked
    unit *ready = nullptr;                         // what is to be run; null: not ready
    std::uint64_t dummies = 0;                     // so often is nothing run in its stead
};

// Inserting takes amortised O(log n) steps: where two neighbours' labels leave no room, the labels around them are
// spread (Bender, Cole, Demaine, Farach-Colton and Zito, Two simplified algorithms for maintaining order in a list,
// ESA 2002). The order of labels never changes.
class serial_order {
public:
    // at: null: behind all.
    void insert_left_of(position *p, position *at) noexcept {
        at ? put_between(p, at->left, at) : put_between(p, last_, nullptr);
    }
    void insert_right_of(position *p, position *at) noexcept {
        at ? put_between(p, at, at->right) : put_between(p, last_, nullptr);
    }
    void erase(position *p) noexcept {
        (p->left ? p->left->right : first_) = p->right;
        (p->right ? p->right->left : last_) = p->left;
    }
    position *first() const noexcept { return first_; }

private:
    // Labels are in 1 … most - 1. At the ends there is more room than a thread's children will need.
    static constexpr unsigned bits = 62;
    static constexpr std::uint64_t most = std::uint64_t{1} << bits, step = std::uint64_t{1} << 32;
    static std::uint64_t after(const position *l) noexcept { return l ? l->label : 0; }
    static std::uint64_t before(const position *r) noexcept { return r ? r->label : most; }

    void put_between(position *p, position *l, position *r) noexcept {
        while (before(r) - after(l) < 2) spread(l ? l : r);
        const std::uint64_t low = after(l), high = before(r), half = (high - low) / 2;
        if (!l == !r)
            p->label = low + half;
        else if (l)
            p->label = low + (half < step ? half : step);
        else
            p->label = high - (half < step ? half : step);
        p->left = l;
        p->right = r;
        (l ? l->right : first_) = p;
        (r ? r->left : last_) = p;
    }

    // Spreads the labels of the smallest range of a power of two around p in which they are not too dense: at most
    // (3/2)^i in 2^i. So a range that was spread takes in proportion to its size many more before it is spread again.
    void spread(position *p) noexcept {
        position *l = p, *r = p;
        std::uint64_t n = 1;
        double room = 1;
        for (unsigned i = 1; i <= bits; ++i) {
            room *= 1.5;
            const std::uint64_t size = std::uint64_t{1} << i, low = p->label & ~(size - 1);
            for (; l->left && l->left->label >= low; ++n) l = l->left;
            for (; r->right && r->right->label < low + size; ++n) r = r->right;
            if (static_cast<double>(n) > room || size / n < 4) continue;
            std::uint64_t label = low + size / n / 2;
            for (position *q = l;; q = q->right, label += size / n) {
                q->label = label;
                if (q == r) return;
            }
        }
    }

    position *first_ = nullptr, *last_ = nullptr;
};

// Positions that are ready, the leftmost first: a pairing heap (Fredman, Sedgewick, Sleator and Tarjan, 1986). Where
// each new one stands left of the others, as a creator's child does, push and pop take constant time.
class leftmost_first {
public:
    position *top() const noexcept { return top_; }
    void push(position *p) noexcept {
        p->child = p->sibling = nullptr;
        top_ = top_ ? meld(top_, p) : p;
    }
    void pop() noexcept { top_ = meld_all(top_->child); }

private:
    static position *meld(position *a, position *b) noexcept {
        position *const first = a->label < b->label ? a : b, *const other = first == a ? b : a;
        other->sibling = first->child;
        first->child = other;
        return first;
    }
    // In pairs from the left, then these from the right.
    static position *meld_all(position *p) noexcept {
        position *pairs = nullptr;
        while (p) {
            position *a = p, *b = a->sibling;
            p = b ? b->sibling : nullptr;
            a->sibling = nullptr;
            if (b) a = meld(a, b);
            a->sibling = pairs;
            pairs = a;
        }
        position *all = nullptr;
        while (pairs) {
            position *next = pairs->sibling;
            pairs->sibling = nullptr;
            all = all ? meld(all, pairs) : pairs;
            pairs = next;
        }
        return all;
    }
    position *top_ = nullptr;
};

} // namespace comity::scheduler
