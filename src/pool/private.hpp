// Pools for one user at a time, as lists through T::next: nothing here allocates, so a push cannot fail. Nothing
// switches. size and is_empty: anybody, a hint.
#pragma once

#include <atomic>
#include <cstddef>

namespace comity::pool {

// A count that one writes and others may read.
class own_count {
public:
    void add(std::size_t n) noexcept { n_.store(get() + n, std::memory_order_relaxed); }
    void sub(std::size_t n) noexcept { n_.store(get() - n, std::memory_order_relaxed); }
    std::size_t get() const noexcept { return n_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::size_t> n_{0};
};

// A list through T::next, taken from its front.
template <class T> struct linked_list {
    T *first = nullptr, *last = nullptr; // `last` is valid if `first` is not null

    void push_front(T *item) noexcept {
        item->next = first;
        if (!first) last = item;
        first = item;
    }
    void push_back(T *item) noexcept {
        item->next = nullptr;
        (first ? last->next : first) = item;
        last = item;
    }
    T *pop() noexcept {
        T *item = first;
        if (item) first = static_cast<T *>(item->next);
        return item;
    }
    bool remove(const T *item) noexcept {
        for (T *before = nullptr, *i = first; i; before = i, i = static_cast<T *>(i->next)) {
            if (i != item) continue;
            (before ? before->next : first) = i->next;
            if (last == i) last = before;
            return true;
        }
        return false;
    }
    template <class Function> void for_each(Function &&f) const {
        for (T *i = first, *next; i; i = next) {
            next = static_cast<T *>(i->next);
            f(i);
        }
    }
};

template <class T, bool Lifo> class private_pool {
public:
    using item_type = T;

    bool push(T *item) noexcept {
        Lifo ? list_.push_front(item) : list_.push_back(item);
        count_.add(1);
        return true;
    }
    T *pop() noexcept {
        T *item = list_.pop();
        if (item) count_.sub(1);
        return item;
    }
    bool remove(const T *item) noexcept {
        const bool found = list_.remove(item);
        if (found) count_.sub(1);
        return found;
    }
    template <class Function> void for_each(Function &&f) { list_.for_each(f); }
    std::size_t size() const noexcept { return count_.get(); }
    bool is_empty() const noexcept { return size() == 0; }

private:
    linked_list<T> list_;
    own_count count_;
};

template <class T> using private_fifo = private_pool<T, false>;
template <class T> using private_lifo = private_pool<T, true>;

} // namespace comity::pool
