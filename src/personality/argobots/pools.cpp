#include "personality/argobots/pools.hpp"

#include "core/chaos.hpp"

#include <new>

namespace comity::abt {

namespace {

std::atomic<int> last_pool{0};

// RANDWS: what is new goes where its owner takes from, what has run goes where others do.
constexpr ABT_pool_context new_ones = ABT_POOL_CONTEXT_OP_THREAD_CREATE | ABT_POOL_CONTEXT_OP_THREAD_CREATE_TO |
                                      ABT_POOL_CONTEXT_OP_THREAD_REVIVE | ABT_POOL_CONTEXT_OP_THREAD_REVIVE_TO;

// Under the pool's lock.
void link(pool *p, thread *t, bool first) noexcept {
    t->prev = first ? nullptr : p->last;
    t->next = first ? p->first : nullptr;
    (t->prev ? t->prev->next : p->first) = t;
    (t->next ? t->next->prev : p->last) = t;
    t->pooled.store(true, std::memory_order_relaxed);
    ++p->size;
}

void unlink(pool *p, thread *t) noexcept {
    (t->prev ? t->prev->next : p->first) = t->next;
    (t->next ? t->next->prev : p->last) = t->prev;
    t->pooled.store(false, std::memory_order_relaxed);
    --p->size;
}

} // namespace

// ---- Life

pool *make_pool(ABT_pool_kind kind, ABT_pool_access access, bool automatic) noexcept {
    auto *p = new (std::nothrow) pool;
    if (!p) return nullptr;
    p->kind = kind == ABT_POOL_RANDWS      ? pool_kind::randws
              : kind == ABT_POOL_FIFO_WAIT ? pool_kind::fifo_wait
                                           : pool_kind::fifo;
    p->access = access;
    p->automatic = automatic;
    p->id = last_pool.fetch_add(1, std::memory_order_relaxed);
    return p;
}

void free_pool(pool *p) noexcept {
    if (p->kind == pool_kind::user && p->user.free) p->user.free(handle(p));
    if (p->kind == pool_kind::user_by_structure && p->structure.p_free) p->structure.p_free(handle(p));
    delete p;
}

void retain(pool *p) noexcept { p->schedulers.fetch_add(1, std::memory_order_relaxed); }

void release(pool *p) noexcept {
    const bool last = p->schedulers.fetch_sub(1, std::memory_order_acq_rel) == 1; // acq_rel[abt-pool-users]
    if (last && p->automatic) free_pool(p);
}

// ---- In and out

void push(pool *p, thread *t, ABT_pool_context op) noexcept {
    core::chaos_point();
    if (p->built_in()) {
        p->lock.lock();
        link(p, t, p->kind == pool_kind::randws && (op & new_ones));
        const bool wake = p->asleep.any(); // who comes to sleep enters under the same lock, and looks after that
        p->lock.unlock();
        if (wake) p->asleep.wake_one();
        return;
    }
    t->pooled.store(true, std::memory_order_relaxed);
    if (p->kind == pool_kind::user)
        p->user.push(handle(p), t->unit, op);
    else
        p->structure.p_push(handle(p), t->unit);
    p->asleep.wake_one();
}

thread *pop(pool *p, ABT_pool_context op) noexcept {
    thread *t = nullptr;
    if (p->built_in()) {
        if (p->size.get() == 0) return nullptr;
        p->lock.lock();
        t = p->kind == pool_kind::randws && (op & ABT_POOL_CONTEXT_OWNER_SECONDARY) ? p->last : p->first;
        if (t) unlink(p, t);
        p->lock.unlock();
        return t;
    }
    if (p->kind == pool_kind::user) {
        t = of(p->user.pop(handle(p), op));
    } else {
        const ABT_unit u = p->structure.p_pop(handle(p));
        t = u == ABT_UNIT_NULL ? nullptr : thread_of(u);
    }
    if (t) t->pooled.store(false, std::memory_order_relaxed);
    return t;
}

bool is_empty(pool *p) noexcept {
    if (p->built_in()) return p->size.get() == 0;
    if (p->kind == pool_kind::user) return p->user.is_empty(handle(p));
    return p->structure.p_get_size(handle(p)) == 0;
}

bool size_of(pool *p, std::size_t &size) noexcept {
    if (p->built_in()) {
        size = p->size.get();
    } else if (p->kind == pool_kind::user) {
        if (!p->user.get_size) return false;
        size = p->user.get_size(handle(p));
    } else {
        size = p->structure.p_get_size(handle(p));
    }
    return true;
}

bool can_remove(const pool *p) noexcept {
    return p->built_in() || (p->kind == pool_kind::user_by_structure && p->structure.p_remove);
}

bool take_out(pool *p, thread *t) noexcept {
    if (p->built_in()) {
        p->lock.lock();
        const bool there = t->pooled.load(std::memory_order_relaxed);
        if (there) unlink(p, t);
        p->lock.unlock();
        return there;
    }
    if (!t->pooled.exchange(false, std::memory_order_relaxed)) return false;
    p->structure.p_remove(handle(p), t->unit);
    return true;
}

} // namespace comity::abt
