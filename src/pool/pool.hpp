// A pool of units whose algorithm is known only at run time: what comity_pool_t points to. Where it is known at compile
// time, use the algorithm's header.
#pragma once

#include "comity/pool.h"
#include "pool/access.hpp"
#include "pool/unit.hpp"

#include <atomic>
#include <cstddef>

namespace comity::pool {

enum class order : std::uint8_t { fifo, lifo, priority, random, user }; // the numbers are those of comity_pool_order_t

// Calls a function for each unit.
struct visitor {
    void (*fn)(void *arg, comity_unit_t *u);
    void *arg;
    void operator()(unit *u) const { fn(arg, reinterpret_cast<comity_unit_t *>(u)); }
};

// One table for each algorithm. Errors are errno's numbers.
struct functions {
    int (*push)(comity_pool *p, unit *u) noexcept;
    unit *(*pop)(comity_pool *p) noexcept;
    std::size_t (*push_many)(comity_pool *p, unit *const *units, std::size_t n, int &error) noexcept;
    std::size_t (*pop_many)(comity_pool *p, unit **units, std::size_t n) noexcept;
    std::size_t (*size)(const comity_pool *p) noexcept;
    bool (*is_empty)(const comity_pool *p) noexcept;
    int (*remove)(comity_pool *p, unit *u) noexcept;
    int (*for_each)(comity_pool *p, visitor v);
    int (*set_seed)(comity_pool *p, std::uint64_t seed) noexcept;
    void (*destroy)(comity_pool *p) noexcept;
};

// A side at which there may be only one.
class alignas(64) side {
public:
    // 0, EPERM or EBUSY. After 0: leave.
    int enter() noexcept;
    void leave() noexcept { inside_.leave(); }
    int give_to(comity_pool_owner_t owner) noexcept;

private:
    static const void *caller(comity_pool_owner_t kind) noexcept;
    std::atomic<const void *> owner_{nullptr}; // a hart or a context, only compared; whoever gives the side away
    comity_pool_owner_t kind_ = COMITY_POOL_OWNER_NONE;
    sole_side inside_;
};

} // namespace comity::pool

struct comity_pool {
    const comity::pool::functions *f;
    comity::pool::access who;
    comity::pool::order which;
    comity::pool::side producer, consumer; // a private pool's are both `producer`

    comity_pool(const comity::pool::functions *table, comity::pool::access a, comity::pool::order o) noexcept
        : f(table), who(a), which(o) {}

    // The side that the caller must enter, or null.
    comity::pool::side *push_side() noexcept { return comity::pool::many_producers(who) ? nullptr : &producer; }
    comity::pool::side *pop_side() noexcept {
        if (comity::pool::many_consumers(who)) return nullptr;
        return who == comity::pool::access::owner ? &producer : &consumer;
    }
};

namespace comity::pool {

// `make` returns null when there is no memory. On any thread.
comity_pool *make(access who, order which) noexcept;
void destroy(comity_pool *p) noexcept;

// For the library's own schedulers, which see to it that the access is kept: internal assertions check it.
int push(comity_pool *p, unit *u) noexcept;
unit *pop(comity_pool *p) noexcept;

} // namespace comity::pool
