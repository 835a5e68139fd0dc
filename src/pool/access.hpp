// Who may use a pool at the same time, and how a breach is noticed. README.md, "Whose a side is".
#pragma once

#include "sys/message.hpp"

#include <atomic>
#include <cstdint>

namespace comity::pool {

// The numbers are those of comity_pool_access_t.
enum class access : std::uint8_t { owner, spsc, spmc, mpsc, mpmc };

constexpr bool many_producers(access a) noexcept { return a == access::mpsc || a == access::mpmc; }
constexpr bool many_consumers(access a) noexcept { return a == access::spmc || a == access::mpmc; }
constexpr const char *name_of(access a) noexcept {
    constexpr const char *names[] = {"private", "spsc", "spmc", "mpsc", "mpmc"};
    return names[static_cast<unsigned>(a)];
}

#ifdef NDEBUG
constexpr bool internal_checks = false;
#else
constexpr bool internal_checks = true;
#endif

// A side of a pool that one may use at a time: where whoever is at it leaves a mark.
class sole_side {
public:
    // Is nobody else at it? Exact, at the price of an atomic exchange. Orders nothing, so that it hides no race from
    // ThreadSanitizer.
    bool enter() noexcept { return !inside_.exchange(true, std::memory_order_relaxed); }
    // The same by a load and a store: two who come within the same few cycles are both let in.
    bool enter_cheaply() noexcept {
        if (inside_.load(std::memory_order_relaxed)) return false;
        inside_.store(true, std::memory_order_relaxed);
        return true;
    }
    void leave() noexcept { inside_.store(false, std::memory_order_relaxed); }

private:
    std::atomic<bool> inside_{false}; // whoever is at the side
};

// A pool that ends the program when it is accessed against its kind. For the library's own pools: with internal
// assertions it checks, without them it is the pool itself.
template <class Pool, access Access, bool Check = internal_checks> class checked : private Pool {
public:
    using item_type = typename Pool::item_type;
    using Pool::is_empty;
    using Pool::Pool;
    using Pool::size;

    bool push(item_type *item) noexcept {
        const visit v(many_producers(Access) ? nullptr : &producer_, "push", "producer");
        return Pool::push(item);
    }
    item_type *pop() noexcept {
        const visit v(many_consumers(Access) ? nullptr : &consumer(), "pop", "consumer");
        return Pool::pop();
    }
    bool remove(item_type *item) noexcept {
        const visit v(many_consumers(Access) ? nullptr : &consumer(), "remove", "consumer");
        return Pool::remove(item);
    }

private:
    class visit {
    public:
        visit(sole_side *s, const char *call, const char *role) noexcept : side_(s) {
            if (s && !s->enter())
                sys::fatal("pool", "%s: the pool is %s, and another %s is at it", call, name_of(Access), role);
        }
        ~visit() {
            if (side_) side_->leave();
        }
        visit(const visit &) = delete;
        visit &operator=(const visit &) = delete;

    private:
        sole_side *side_;
    };
    sole_side &consumer() noexcept { return Access == access::owner ? producer_ : consumer_; }

    sole_side producer_, consumer_;
};

template <class Pool, access Access> class checked<Pool, Access, false> : public Pool {
public:
    using Pool::Pool;
};

} // namespace comity::pool
