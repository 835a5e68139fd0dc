// A pool whose algorithm is the user's (comity_pool_functions_t). Fits the table of pool.hpp by itself, for its
// functions return errors of their own.
#pragma once

#include "pool/pool.hpp"

#include <cerrno>
#include <cstddef>

namespace comity::pool {

class user_pool : public comity_pool {
public:
    user_pool(access who, const comity_pool_functions_t &f, void *state) noexcept
        : comity_pool(&table, who, order::user), user_(f), state_(state) {}

private:
    static user_pool &of(comity_pool *p) noexcept { return *static_cast<user_pool *>(p); }
    static const user_pool &of(const comity_pool *p) noexcept { return *static_cast<const user_pool *>(p); }
    static comity_unit_t *outer(unit *u) noexcept { return reinterpret_cast<comity_unit_t *>(u); }
    static unit *inner(comity_unit_t *u) noexcept { return reinterpret_cast<unit *>(u); }

    static int push(comity_pool *p, unit *u) noexcept { return of(p).user_.push(of(p).state_, outer(u)); }
    static unit *pop(comity_pool *p) noexcept { return inner(of(p).user_.pop(of(p).state_)); }
    static std::size_t push_many(comity_pool *p, unit *const *units, std::size_t n, int &error) noexcept {
        const auto &f = of(p).user_;
        if (f.push_many) {
            const std::size_t done = f.push_many(of(p).state_, reinterpret_cast<comity_unit_t *const *>(units), n);
            if (done < n) error = ENOMEM;
            return done;
        }
        for (std::size_t i = 0; i < n; ++i)
            if ((error = push(p, units[i]))) return i;
        return n;
    }
    static std::size_t pop_many(comity_pool *p, unit **units, std::size_t n) noexcept {
        const auto &f = of(p).user_;
        if (f.pop_many) return f.pop_many(of(p).state_, reinterpret_cast<comity_unit_t **>(units), n);
        std::size_t i = 0;
        while (i < n && (units[i] = pop(p))) ++i;
        return i;
    }
    static std::size_t size(const comity_pool *p) noexcept { return of(p).user_.size(of(p).state_); }
    static bool is_empty(const comity_pool *p) noexcept {
        const auto &f = of(p).user_;
        return f.is_empty ? f.is_empty(of(p).state_) != 0 : size(p) == 0;
    }
    static int remove(comity_pool *p, unit *u) noexcept {
        const auto &f = of(p).user_;
        return f.remove ? f.remove(of(p).state_, outer(u)) : ENOTSUP;
    }
    static int for_each(comity_pool *p, visitor v) {
        const auto &f = of(p).user_;
        if (!f.for_each) return ENOTSUP;
        f.for_each(of(p).state_, v.fn, v.arg);
        return 0;
    }
    static int set_seed(comity_pool *, std::uint64_t) noexcept { return EINVAL; }
    static void destroy(comity_pool *p) noexcept {
        if (of(p).user_.free) of(p).user_.free(of(p).state_);
        delete &of(p);
    }

    static constexpr functions table{push,     pop,    push_many, pop_many, size,
                                     is_empty, remove, for_each,  set_seed, destroy};

    comity_pool_functions_t user_;
    void *state_;
};

} // namespace comity::pool
