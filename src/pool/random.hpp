// Any of the items that are there, each as likely as the others, by a seed: the same pushes and pops with the same seed
// give the same order. For tests, which a random order shows what they rest on. Nothing switches.
#pragma once

#include "core/spinlock.hpp"
#include "pool/private.hpp"
#include "sys/own_count.hpp"
#include "sys/own_memory.hpp"
#include "sys/random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace comity::pool {

// For one user at a time.
template <class T> class private_random {
public:
    using item_type = T;

    private_random() noexcept = default;
    private_random(const private_random &) = delete;
    private_random &operator=(const private_random &) = delete;
    ~private_random() { sys::free_own(items_, room_ * sizeof(T *)); }

    // False: no memory.
    bool push(T *item) noexcept {
        if (size() == room_ && !grow()) return false;
        items_[size()] = item;
        count_.add(1);
        return true;
    }
    T *pop() noexcept { return size() == 0 ? nullptr : take(static_cast<std::size_t>(below(size()))); }
    bool remove(const T *item) noexcept {
        for (std::size_t i = 0; i < size(); ++i)
            if (items_[i] == item) return take(i) != nullptr;
        return false;
    }
    template <class Function> void for_each(Function &&f) {
        for (std::size_t i = 0; i < size(); ++i) f(items_[i]);
    }
    void set_seed(std::uint64_t seed) noexcept { state_ = seed; }
    std::size_t size() const noexcept { return count_.get(); }
    bool is_empty() const noexcept { return size() == 0; }

private:
    bool grow() noexcept {
        const std::size_t room = room_ ? 2 * room_ : 64;
        auto **larger = static_cast<T **>(sys::allocate_own(room * sizeof(T *)));
        if (!larger) return false;
        std::copy_n(items_, room_, larger);
        sys::free_own(items_, room_ * sizeof(T *));
        items_ = larger;
        room_ = room;
        return true;
    }
    T *take(std::size_t i) noexcept {
        T *item = items_[i];
        count_.sub(1);
        items_[i] = items_[size()];
        return item;
    }
    // A product in place of a division.
    std::uint64_t below(std::uint64_t n) noexcept { return (sys::mix(state_ += sys::random_step) >> 32) * n >> 32; }

    T **items_ = nullptr;
    std::size_t room_ = 0;
    sys::own_count<std::size_t> count_;
    std::uint64_t state_ = 1;
};

// A pool for one made a pool for many by a lock: for what every operation must see as a whole.
template <class Pool> class locked {
public:
    using item_type = typename Pool::item_type;

    bool push(item_type *item) noexcept {
        const hold h(lock_);
        return pool_.push(item);
    }
    item_type *pop() noexcept {
        if (pool_.is_empty()) return nullptr;
        const hold h(lock_);
        return pool_.pop();
    }
    bool remove(const item_type *item) noexcept {
        const hold h(lock_);
        return pool_.remove(item);
    }
    template <class Function> void for_each(Function &&f) { pool_.for_each(f); } // while nobody else uses the pool
    void set_seed(std::uint64_t seed) noexcept {
        const hold h(lock_);
        pool_.set_seed(seed);
    }
    std::size_t size() const noexcept { return pool_.size(); }
    bool is_empty() const noexcept { return pool_.is_empty(); }

private:
    struct hold {
        explicit hold(core::spinlock &l) noexcept : lock(l) { lock.lock(); }
        ~hold() { lock.unlock(); }
        hold(const hold &) = delete;
        hold &operator=(const hold &) = delete;
        core::spinlock &lock;
    };
    core::spinlock lock_;
    Pool pool_;
};

} // namespace comity::pool
