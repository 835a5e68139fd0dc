// Pools and units in C++ (comity/pool.h says what each function does and where it may be called; none switches).
//
// comity::pool takes its access and order at run time. pool_private, pool_spsc, pool_spmc, pool_mpsc and pool_mpmc have
// the access in their type: what only one may do is done through an end that can be moved but not copied: to share one
// does not compile, and to ask a pool for a second one while the first lives throws EBUSY.
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/pool.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

namespace comity {

enum class pool_access : unsigned char {
    one = COMITY_POOL_PRIVATE,
    spsc = COMITY_POOL_SPSC,
    spmc = COMITY_POOL_SPMC,
    mpsc = COMITY_POOL_MPSC,
    mpmc = COMITY_POOL_MPMC
};
enum class pool_order : unsigned char {
    fifo = COMITY_POOL_FIFO,
    lifo = COMITY_POOL_LIFO,
    priority = COMITY_POOL_PRIORITY,
    random = COMITY_POOL_RANDOM
};

// A unit that calls a function object when it is run: comity_unit_run(&u.handle()). Stays where it is made, and must
// outlive its stay in a pool.
template <class Function> class function_unit {
public:
    explicit function_unit(Function f, unsigned char priority = 0)
        : function_(std::move(f)),
          unit_(comity_unit_init(
              &storage_, [](void *self) { static_cast<function_unit *>(self)->function_(); }, this)) {
        static_assert(std::is_invocable_v<Function &>);
        if (priority) comity_unit_set_priority(unit_, priority);
    }
    function_unit(const function_unit &) = delete;
    function_unit &operator=(const function_unit &) = delete;

    comity_unit_t &handle() noexcept { return *unit_; }
    void priority(unsigned char p) noexcept { comity_unit_set_priority(unit_, p); }

private:
    Function function_;
    comity_unit_storage_t storage_;
    comity_unit_t *unit_;
};

// A pool with its access and order as values. Throws std::system_error with the error number, std::bad_alloc for
// ENOMEM. The units that are still in it when it ends are forgotten.
class pool {
public:
    explicit pool(pool_access access, pool_order order = pool_order::fifo) {
        comity_pool_t *p = nullptr;
        check(
            comity_pool_create(&p, static_cast<comity_pool_access_t>(access), static_cast<comity_pool_order_t>(order)),
            "comity::pool");
        pool_.reset(p);
    }
    // The user's own algorithm.
    pool(pool_access access, const comity_pool_functions_t &functions, void *argument) {
        comity_pool_t *p = nullptr;
        check(comity_pool_create_user(&p, static_cast<comity_pool_access_t>(access), &functions, argument),
              "comity::pool");
        pool_.reset(p);
    }

    void push(comity_unit_t &u) { check(comity_pool_push(native_handle(), &u), "comity::pool::push"); }
    // If not all can be pushed, throws after the first ones.
    void push(std::span<comity_unit_t *const> units) {
        check(comity_pool_push_many(native_handle(), units.data(), units.size(), nullptr), "comity::pool::push");
    }
    // Null: there is none.
    comity_unit_t *pop() {
        comity_unit_t *u = nullptr;
        const int error = comity_pool_pop(native_handle(), &u);
        if (u == nullptr && error != nothing) check(error, "comity::pool::pop");
        return u;
    }
    // The part of `units` that has been filled.
    std::span<comity_unit_t *> pop(std::span<comity_unit_t *> units) {
        std::size_t n = 0;
        check(comity_pool_pop_many(native_handle(), units.data(), units.size(), &n), "comity::pool::pop");
        return units.first(n);
    }
    // Was it there, and is it the caller's now?
    bool remove(comity_unit_t &u) {
        const int error = comity_pool_remove(native_handle(), &u);
        if (error != 0 && error != not_there) check(error, "comity::pool::remove");
        return error == 0;
    }
    void seed(std::uint64_t s) { check(comity_pool_set_seed(native_handle(), s), "comity::pool::seed"); }
    void own(comity_pool_side_t side, comity_pool_owner_t owner) {
        check(comity_pool_own(native_handle(), side, owner), "comity::pool::own");
    }

    std::size_t size() const noexcept { return comity_pool_size(native_handle()); }
    bool empty() const noexcept { return comity_pool_is_empty(native_handle()); }
    comity_pool_t *native_handle() const noexcept { return pool_.get(); }

private:
    static constexpr int nothing = static_cast<int>(std::errc::resource_unavailable_try_again),
                         not_there = static_cast<int>(std::errc::no_such_file_or_directory);
    static void check(int error, const char *call) {
        if (error == static_cast<int>(std::errc::not_enough_memory)) throw std::bad_alloc();
        if (error != 0) throw std::system_error(error, std::generic_category(), call);
    }
    struct freer {
        void operator()(comity_pool_t *p) const noexcept {
            while (comity_pool_free(p) != 0) {
                comity_unit_t *u = nullptr;
                if (comity_pool_pop(p, &u) != 0) return; // the side is another's: leaves it to him
            }
        }
    };
    std::unique_ptr<comity_pool_t, freer> pool_;
};

namespace pool_detail {

// The right to a side of a pool, which must outlive it. Shared: can be copied.
template <bool Shared> class end {
public:
    end(end &&other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), given_(std::exchange(other.given_, nullptr)) {}
    end(const end &other) noexcept requires Shared = default;
    end &operator=(end &&other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(given_, other.given_);
        return *this;
    }
    end &operator=(const end &) noexcept requires Shared = default;
    ~end() {
        if (given_) *given_ = false;
    }

protected:
    // given: where it is noted that the only end is out; null if there may be many.
    end(pool &p, bool *given) : pool_(&p), given_(given) {
        if (!given_) return;
        if (*given_) {
            throw std::system_error(std::make_error_code(std::errc::device_or_resource_busy),
                                    "comity: the pool's only end of this kind is out");
        }
        *given_ = true;
    }
    pool *pool_;
    bool *given_;
};

} // namespace pool_detail

template <pool_access Access> class pool_for;

// What pushes into a pool_for. Not by two at the same time if it cannot be copied.
template <bool Shared> class pool_producer : public pool_detail::end<Shared> {
public:
    void push(comity_unit_t &u) { this->pool_->push(u); }
    void push(std::span<comity_unit_t *const> units) { this->pool_->push(units); }

private:
    template <pool_access> friend class pool_for;
    using pool_detail::end<Shared>::end;
};

// What pops from a pool_for. Not by two at the same time if it cannot be copied.
template <bool Shared> class pool_consumer : public pool_detail::end<Shared> {
public:
    comity_unit_t *pop() { return this->pool_->pop(); }
    std::span<comity_unit_t *> pop(std::span<comity_unit_t *> units) { return this->pool_->pop(units); }
    bool remove(comity_unit_t &u) { return this->pool_->remove(u); }

private:
    template <pool_access> friend class pool_for;
    using pool_detail::end<Shared>::end;
};

// A pool with its access in its type. producer() and consumer() give out its ends; where there may be only one, a
// second one while the first lives throws std::system_error (EBUSY). Ask for ends where nobody else does at the same
// time.
template <pool_access Access> class pool_for {
public:
    static constexpr bool many_producers = Access == pool_access::mpsc || Access == pool_access::mpmc,
                          many_consumers = Access == pool_access::spmc || Access == pool_access::mpmc;

    explicit pool_for(pool_order order = pool_order::fifo) : pool_(Access, order) {}
    pool_for(const pool_for &) = delete;
    pool_for &operator=(const pool_for &) = delete;

    pool_producer<many_producers> producer() { return {pool_, many_producers ? nullptr : &producer_out_}; }
    pool_consumer<many_consumers> consumer() { return {pool_, many_consumers ? nullptr : &consumer_out_}; }
    std::size_t size() const noexcept { return pool_.size(); }
    bool empty() const noexcept { return pool_.empty(); }
    void seed(std::uint64_t s) { pool_.seed(s); }
    comity_pool_t *native_handle() const noexcept { return pool_.native_handle(); }

private:
    pool pool_;
    bool producer_out_ = false, consumer_out_ = false;
};

// One in all, so the pool is its own end.
template <> class pool_for<pool_access::one> : public pool {
public:
    explicit pool_for(pool_order order = pool_order::fifo) : pool(pool_access::one, order) {}
};

using pool_private = pool_for<pool_access::one>;
using pool_spsc = pool_for<pool_access::spsc>;
using pool_spmc = pool_for<pool_access::spmc>;
using pool_mpsc = pool_for<pool_access::mpsc>;
using pool_mpmc = pool_for<pool_access::mpmc>;

} // namespace comity
