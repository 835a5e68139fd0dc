// Makes a pool of a known algorithm one that is known at run time only.
#pragma once

#include "pool/pool.hpp"

#include <cerrno>
#include <cstddef>
#include <new>

namespace comity::pool {

template <class Pool> class holder : public comity_pool {
public:
    template <class... Arguments>
    holder(access who, order which, Arguments &&...a) noexcept
        : comity_pool(&table, who, which), pool_(static_cast<Arguments &&>(a)...) {}

private:
    static Pool &of(comity_pool *p) noexcept { return static_cast<holder *>(p)->pool_; }
    static const Pool &of(const comity_pool *p) noexcept { return static_cast<const holder *>(p)->pool_; }

    static int push(comity_pool *p, unit *u) noexcept { return of(p).push(u) ? 0 : ENOMEM; }
    static unit *pop(comity_pool *p) noexcept { return of(p).pop(); }
    static std::size_t push_many(comity_pool *p, unit *const *units, std::size_t n, int &error) noexcept {
        if constexpr (requires { of(p).push_many(units, n); }) return of(p).push_many(units, n);
        for (std::size_t i = 0; i < n; ++i)
            if (!of(p).push(units[i])) {
                error = ENOMEM;
                return i;
            }
        return n;
    }
    static std::size_t pop_many(comity_pool *p, unit **units, std::size_t n) noexcept {
        std::size_t i = 0;
        while (i < n && (units[i] = of(p).pop())) ++i;
        return i;
    }
    static std::size_t size(const comity_pool *p) noexcept { return of(p).size(); }
    static bool is_empty(const comity_pool *p) noexcept { return of(p).is_empty(); }
    static int remove(comity_pool *p, unit *u) noexcept { return of(p).remove(u) ? 0 : ENOENT; }
    static int for_each(comity_pool *p, visitor v) {
        of(p).for_each(v);
        return 0;
    }
    static int set_seed(comity_pool *p, std::uint64_t seed) noexcept {
        if constexpr (requires { of(p).set_seed(seed); }) {
            of(p).set_seed(seed);
            return 0;
        }
        return EINVAL;
    }
    static void destroy(comity_pool *p) noexcept { delete static_cast<holder *>(p); }

    static constexpr functions table{push,     pop,    push_many, pop_many, size,
                                     is_empty, remove, for_each,  set_seed, destroy};

    Pool pool_;
};

} // namespace comity::pool
