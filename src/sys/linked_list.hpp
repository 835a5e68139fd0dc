// Lists, oldest first, through links in their items. For one user at a time; nothing here allocates or switches.
#pragma once

#include "sys/own_count.hpp"

#include <cstdint>

namespace comity::sys {

// Where an item keeps its link: T::next, a pointer to T or to a base of it.
struct by_next {
    template <class T> static auto &of(T *item) noexcept { return item->next; }
};

template <class T, class Link = by_next> class linked_list {
public:
    linked_list() = default;
    explicit linked_list(T *only) noexcept { push_back(only); }

    bool empty() const noexcept { return !first_; }
    T *first() const noexcept { return first_; }
    // nullptr after the last one.
    static T *after(T *item) noexcept { return static_cast<T *>(Link::of(item)); }

    void push_front(T *item) noexcept {
        Link::of(item) = first_;
        if (!first_) last_ = item;
        first_ = item;
    }
    void push_back(T *item) noexcept {
        Link::of(item) = nullptr;
        link(item, item);
    }
    // All of `others`, which is left as it is, behind the own ones.
    void append(linked_list others) noexcept {
        if (others.first_) link(others.first_, others.last_);
    }

    T *pop_front() noexcept {
        T *const item = first_;
        if (item) first_ = after(item);
        return item;
    }
    // pop_front and push_back at once, of a list that is not empty.
    T *exchange_front(T *item) noexcept {
        T *const taken = first_;
        Link::of(item) = nullptr;
        Link::of(last_) = item;
        last_ = item;
        first_ = after(taken); // the item, if there was one only
        return taken;
    }
    linked_list take_all() noexcept {
        const linked_list all = *this;
        clear();
        return all;
    }
    void clear() noexcept { first_ = nullptr; }
    template <class Wanted> T *find_if(Wanted wanted) const noexcept {
        T *item = first_;
        while (item && !wanted(item)) item = after(item);
        return item;
    }
    // Takes the first one that is wanted; null: none is.
    template <class Wanted> T *take_if(Wanted wanted) noexcept {
        T *before = nullptr, *item = first_;
        for (; item && !wanted(item); item = after(item)) before = item;
        if (!item) return nullptr;
        if (before)
            Link::of(before) = Link::of(item);
        else
            first_ = after(item);
        if (last_ == item) last_ = before;
        return item;
    }
    bool remove(const T *item) noexcept {
        return take_if([item](const T *other) { return other == item; }) != nullptr;
    }
    template <class Function> void for_each(Function &&f) const {
        for (T *item = first_, *next; item; item = next) {
            next = after(item); // f may do with the item what it likes
            f(item);
        }
    }

private:
    void link(T *from, T *to) noexcept {
        if (first_)
            Link::of(last_) = from;
        else
            first_ = from;
        last_ = to;
    }

    T *first_ = nullptr, *last_ = nullptr; // `last_` is valid if there is a first one
};

// The same, and how many they are, which anybody may read.
template <class T, class Link = by_next> class counted_list {
public:
    std::uint32_t size() const noexcept { return count_.get(); }
    bool empty() const noexcept { return size() == 0; }

    T *first() const noexcept { return list_.first(); }
    void push_front(T *item) noexcept {
        list_.push_front(item);
        ++count_;
    }
    void push_back(T *item) noexcept {
        list_.push_back(item);
        ++count_;
    }
    void append(const linked_list<T, Link> &others, std::uint32_t n) noexcept {
        list_.append(others);
        count_.add(n);
    }
    T *pop_front() noexcept { return counted(list_.pop_front()); }
    T *exchange_front(T *item) noexcept { return list_.exchange_front(item); }
    linked_list<T, Link> take_all() noexcept {
        count_.set(0);
        return list_.take_all();
    }
    void clear() noexcept { (void)take_all(); }
    template <class Wanted> T *find_if(Wanted wanted) const noexcept { return list_.find_if(wanted); }
    template <class Wanted> T *take_if(Wanted wanted) noexcept { return counted(list_.take_if(wanted)); }
    bool remove(const T *item) noexcept {
        const bool found = list_.remove(item);
        if (found) --count_;
        return found;
    }
    template <class Function> void for_each(Function &&f) const { list_.for_each(f); }

private:
    T *counted(T *taken) noexcept {
        if (taken) --count_;
        return taken;
    }

    linked_list<T, Link> list_;
    own_count<std::uint32_t> count_;
};

} // namespace comity::sys
