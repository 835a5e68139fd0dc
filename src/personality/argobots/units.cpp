// What pools know work units by. A built-in pool's unit is the work unit's own address, marked; those of a program's
// pool are whatever it made, and a table leads back.
#include "personality/argobots/pools.hpp"

#include <new>

namespace comity::abt {

namespace {

constexpr std::uintptr_t mark = 1; // no address of a program's own object ends in it

struct entry {
    ABT_unit unit;
    thread *is;
    entry *next;
};

struct alignas(64) bucket {
    core::spinlock lock;
    entry *first = nullptr; // under lock
};

constexpr std::size_t buckets = 1024;
bucket table[buckets];

bucket &bucket_of(ABT_unit u) noexcept {
    const auto h = reinterpret_cast<std::uintptr_t>(u) * 0x9e3779b97f4a7c15;
    return table[h >> 54];
}

bool enter(ABT_unit u, thread *t) noexcept {
    auto *e = new (std::nothrow) entry{u, t, nullptr};
    if (!e) return false;
    bucket &b = bucket_of(u);
    b.lock.lock();
    e->next = b.first;
    b.first = e;
    b.lock.unlock();
    return true;
}

void forget(ABT_unit u) noexcept {
    bucket &b = bucket_of(u);
    entry *e = nullptr;
    b.lock.lock();
    for (entry **at = &b.first; *at; at = &(*at)->next)
        if ((*at)->unit == u) {
            e = *at;
            *at = e->next;
            break;
        }
    b.lock.unlock();
    delete e;
}

ABT_unit make_unit(pool *p, thread *t) noexcept {
    if (p->kind == pool_kind::user) return p->user.create_unit(handle(p), handle(t));
    return p->structure.u_create_from_thread(handle(t));
}

void free_unit(pool *p, ABT_unit u) noexcept {
    if (p->kind == pool_kind::user)
        p->user.free_unit(handle(p), u);
    else
        p->structure.u_free(&u);
}

} // namespace

ABT_unit built_in_unit(thread *t) noexcept {
    return reinterpret_cast<ABT_unit>(reinterpret_cast<std::uintptr_t>(t) | mark);
}

static bool is_built_in(ABT_unit u) noexcept { return reinterpret_cast<std::uintptr_t>(u) & mark; }

thread *thread_of(ABT_unit u) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(u);
    if (is_built_in(u)) return reinterpret_cast<thread *>(value - mark);
    bucket &b = bucket_of(u);
    thread *t = nullptr;
    b.lock.lock();
    for (entry *e = b.first; e; e = e->next)
        if (e->unit == u) {
            t = e->is;
            break;
        }
    b.lock.unlock();
    return t;
}

void leave_pool(thread *t) noexcept {
    if (!is_built_in(t->unit)) { // else the pool may be gone by now
        forget(t->unit);
        free_unit(t->home, t->unit);
    }
    t->home = nullptr;
    t->unit = built_in_unit(t);
}

int associate(thread *t, pool *to) noexcept {
    if (t->home == to) return ABT_SUCCESS;
    ABT_unit u = built_in_unit(t);
    if (!to->built_in()) {
        u = make_unit(to, t);
        if (u == ABT_UNIT_NULL) return ABT_ERR_UNIT;
        if (!enter(u, t)) {
            free_unit(to, u);
            return ABT_ERR_MEM;
        }
    }
    leave_pool(t);
    t->home = to;
    t->unit = u;
    return ABT_SUCCESS;
}

} // namespace comity::abt
