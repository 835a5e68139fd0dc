// Pools for one user at a time, as lists through T::next: nothing here allocates, so a push cannot fail. Nothing
// switches. size and is_empty: anybody, a hint.
#pragma once

#include "sys/linked_list.hpp"

#include <cstddef>

namespace comity::pool {

template <class T, bool Lifo> class private_pool {
public:
    using item_type = T;

    bool push(T *item) noexcept {
        Lifo ? list_.push_front(item) : list_.push_back(item);
        return true;
    }
    T *pop() noexcept { return list_.pop_front(); }
    bool remove(const T *item) noexcept { return list_.remove(item); }
    template <class Function> void for_each(Function &&f) { list_.for_each(f); }
    std::size_t size() const noexcept { return list_.size(); }
    bool is_empty() const noexcept { return list_.empty(); }

private:
    sys::counted_list<T> list_;
};

template <class T> using private_fifo = private_pool<T, false>;
template <class T> using private_lifo = private_pool<T, true>;

} // namespace comity::pool
