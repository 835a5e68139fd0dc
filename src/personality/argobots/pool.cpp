// The functions ABT_pool_* and ABT_unit_*.
#include "personality/argobots/check.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/user_pool.hpp"
#include "personality/argobots/work.hpp"

#include <cmath>
#include <new>

using namespace comity::abt;

namespace {

bool is_kind(int kind) { return kind >= ABT_POOL_FIFO && kind <= ABT_POOL_RANDWS; }
bool is_access(int access) { return access >= ABT_POOL_ACCESS_PRIV && access <= ABT_POOL_ACCESS_MPMC; }

// Seconds as nanoseconds, at most what now_ns() can take on.
std::int64_t nanoseconds(double seconds) {
    if (!(seconds > 0)) return 0;
    return seconds > 1e9 ? static_cast<std::int64_t>(1e18) : std::llround(seconds * 1e9);
}

int pop_waiting(pool *p, thread *&t, double seconds, ABT_pool_context op) {
    if (p->built_in()) {
        t = pop_wait(p, op, comity::sys::now_ns() + nanoseconds(seconds));
        return ABT_SUCCESS;
    }
    COMITY_CHECK(p->kind == pool_kind::user && p->user.pop_wait, ABT_ERR_POOL);
    t = of(p->user.pop_wait(handle(p), seconds, op));
    if (t) t->pooled.store(false, std::memory_order_relaxed);
    return ABT_SUCCESS;
}

int push_to(pool *p, thread *t, ABT_pool_context op) {
    COMITY_TRY(associate(t, p));
    push(p, t, op);
    return ABT_SUCCESS;
}

struct printing {
    void (*threads)(void *, ABT_thread);
    void (*units)(void *, ABT_unit);
    void *arg;
    void operator()(thread *t) const { threads ? threads(arg, handle(t)) : units(arg, t->unit); }
};

int print(pool *p, const printing &to) {
    if (p->built_in()) {
        p->lock.lock();
        for (thread *t = p->first; t; t = t->next) to(t);
        p->lock.unlock();
    } else if (p->kind == pool_kind::user) {
        COMITY_CHECK(p->user.print_all, ABT_ERR_POOL);
        if (to.threads) return p->user.print_all(handle(p), to.arg, to.threads), ABT_SUCCESS;
        p->user.print_all(handle(p), const_cast<printing *>(&to),
                          [](void *arg, ABT_thread h) { (*static_cast<const printing *>(arg))(of(h)); });
    } else {
        COMITY_CHECK(p->structure.p_print_all, ABT_ERR_POOL);
        if (to.units) return p->structure.p_print_all(handle(p), to.arg, to.units), ABT_SUCCESS;
        p->structure.p_print_all(handle(p), const_cast<printing *>(&to), [](void *arg, ABT_unit u) {
            if (thread *t = thread_of(u)) (*static_cast<const printing *>(arg))(t);
        });
    }
    return ABT_SUCCESS;
}

} // namespace

extern "C" {

// ---- Life

int ABT_pool_create_basic(ABT_pool_kind kind, ABT_pool_access access, ABT_bool automatic, ABT_pool *made) {
    COMITY_CHECK_READY();
    *made = ABT_POOL_NULL;
    COMITY_CHECK(is_kind(kind), ABT_ERR_INV_POOL_KIND);
    COMITY_CHECK(is_access(access), ABT_ERR_INV_POOL_ACCESS);
    pool *p = make_pool(kind, access, automatic != ABT_FALSE);
    COMITY_CHECK(p, ABT_ERR_MEM);
    *made = handle(p);
    return ABT_SUCCESS;
}

int ABT_pool_create(ABT_pool_user_def def, ABT_pool_config config, ABT_pool *made) {
    COMITY_CHECK_READY();
    *made = ABT_POOL_NULL;
    COMITY_CHECK(def, ABT_ERR_INV_POOL_USER_DEF);
    pool *p = make_pool(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, false);
    COMITY_CHECK(p, ABT_ERR_MEM);
    int automatic = 0;
    if (read_pool_config(config, ABT_pool_config_automatic.key, &automatic)) p->automatic = automatic != 0;
    define(p, def);
    int error = ABT_SUCCESS;
    if (p->kind == pool_kind::user && p->user.init) error = p->user.init(handle(p), config);
    if (p->kind == pool_kind::user_by_structure && p->structure.p_init) error = p->structure.p_init(handle(p), config);
    if (error != ABT_SUCCESS) {
        delete p;
        return error;
    }
    *made = handle(p);
    return ABT_SUCCESS;
}

int ABT_pool_free(ABT_pool *p) {
    COMITY_CHECK_READY();
    COMITY_CHECK(*p, ABT_ERR_INV_POOL);
    COMITY_CHECK(is_empty(of(*p)) && of(*p)->schedulers.load(std::memory_order_relaxed) == 0, ABT_ERR_POOL);
    free_pool(of(*p));
    *p = ABT_POOL_NULL;
    return ABT_SUCCESS;
}

// ---- What it is

int ABT_pool_get_access(ABT_pool p, ABT_pool_access *access) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    *access = of(p)->access;
    return ABT_SUCCESS;
}

int ABT_pool_is_empty(ABT_pool p, ABT_bool *is) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    *is = is_empty(of(p)) ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_pool_get_size(ABT_pool p, size_t *size) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    return size_of(of(p), *size) ? ABT_SUCCESS : ABT_ERR_POOL;
}

int ABT_pool_get_total_size(ABT_pool p, size_t *size) {
    COMITY_TRY(ABT_pool_get_size(p, size));
    *size += static_cast<size_t>(of(p)->blocked.load(std::memory_order_relaxed));
    return ABT_SUCCESS;
}

int ABT_pool_set_data(ABT_pool p, void *data) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    of(p)->data = data;
    return ABT_SUCCESS;
}

int ABT_pool_get_data(ABT_pool p, void **data) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    *data = of(p)->data;
    return ABT_SUCCESS;
}

int ABT_pool_get_id(ABT_pool p, int *id) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    *id = of(p)->id;
    return ABT_SUCCESS;
}

// ---- Work units in and out

int ABT_pool_pop_thread_ex(ABT_pool p, ABT_thread *h, ABT_pool_context op) {
    *h = ABT_THREAD_NULL;
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    *h = handle(pop(of(p), op));
    return ABT_SUCCESS;
}

int ABT_pool_pop_thread(ABT_pool p, ABT_thread *h) {
    return ABT_pool_pop_thread_ex(p, h, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_pop_threads_ex(ABT_pool h, ABT_thread *list, size_t most, size_t *num, ABT_pool_context op) {
    COMITY_CHECK(h, ABT_ERR_INV_POOL);
    pool *p = of(h);
    *num = 0;
    if (p->built_in()) {
        for (thread *t = nullptr; *num < most && (t = pop(p, op));) list[(*num)++] = handle(t);
        return ABT_SUCCESS;
    }
    COMITY_CHECK(p->kind == pool_kind::user && p->user.pop_many, ABT_ERR_POOL);
    p->user.pop_many(h, list, most, num, op);
    for (size_t i = 0; i < *num; ++i) of(list[i])->pooled.store(false, std::memory_order_relaxed);
    return ABT_SUCCESS;
}

int ABT_pool_pop_threads(ABT_pool p, ABT_thread *list, size_t most, size_t *num) {
    return ABT_pool_pop_threads_ex(p, list, most, num, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_push_thread_ex(ABT_pool p, ABT_thread t, ABT_pool_context op) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    if (!t) return ABT_SUCCESS;
    return push_to(of(p), of(t), op);
}

int ABT_pool_push_thread(ABT_pool p, ABT_thread t) {
    return ABT_pool_push_thread_ex(p, t, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_push_threads_ex(ABT_pool h, const ABT_thread *list, size_t num, ABT_pool_context op) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_POOL);
    pool *p = of(h);
    COMITY_CHECK(p->built_in() || (p->kind == pool_kind::user && p->user.push_many), ABT_ERR_POOL);
    if (p->built_in()) {
        for (size_t i = 0; i < num; ++i)
            if (list[i]) COMITY_TRY(push_to(p, of(list[i]), op));
        return ABT_SUCCESS;
    }
    auto *units = new (std::nothrow) ABT_unit[num + 1];
    COMITY_CHECK(units, ABT_ERR_MEM);
    int error = ABT_SUCCESS;
    size_t n = 0;
    for (size_t i = 0; i < num && error == ABT_SUCCESS; ++i) {
        if (!list[i]) continue;
        error = associate(of(list[i]), p);
        of(list[i])->pooled.store(true, std::memory_order_relaxed);
        units[n++] = of(list[i])->unit;
    }
    if (error == ABT_SUCCESS && n) {
        p->user.push_many(h, units, n, op);
        p->asleep.wake_all();
    }
    delete[] units;
    return error;
}

int ABT_pool_push_threads(ABT_pool p, const ABT_thread *list, size_t num) {
    return ABT_pool_push_threads_ex(p, list, num, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_pop_wait_thread_ex(ABT_pool p, ABT_thread *h, double seconds, ABT_pool_context op) {
    *h = ABT_THREAD_NULL;
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    thread *t = nullptr;
    COMITY_TRY(pop_waiting(of(p), t, seconds, op));
    *h = handle(t);
    return ABT_SUCCESS;
}

int ABT_pool_pop_wait_thread(ABT_pool p, ABT_thread *h, double seconds) {
    return ABT_pool_pop_wait_thread_ex(p, h, seconds, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_print_all_threads(ABT_pool p, void *arg, void (*fn)(void *, ABT_thread)) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    return print(of(p), {fn, nullptr, arg});
}

int ABT_pool_print_all(ABT_pool p, void *arg, void (*fn)(void *, ABT_unit)) {
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    return print(of(p), {nullptr, fn, arg});
}

// ---- The same by units

int ABT_pool_pop(ABT_pool p, ABT_unit *unit) {
    *unit = ABT_UNIT_NULL;
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    if (thread *t = pop(of(p), ABT_POOL_CONTEXT_OP_POOL_OTHER)) *unit = t->unit;
    return ABT_SUCCESS;
}

int ABT_pool_pop_wait(ABT_pool p, ABT_unit *unit, double seconds) {
    *unit = ABT_UNIT_NULL;
    ABT_thread h = ABT_THREAD_NULL;
    COMITY_TRY(ABT_pool_pop_wait_thread(p, &h, seconds));
    if (h) *unit = of(h)->unit;
    return ABT_SUCCESS;
}

int ABT_pool_pop_timedwait(ABT_pool h, ABT_unit *unit, double until) {
    *unit = ABT_UNIT_NULL;
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_POOL);
    pool *p = of(h);
    if (p->built_in()) {
        if (thread *t = pop_wait(p, ABT_POOL_CONTEXT_OP_POOL_OTHER, nanoseconds(until))) *unit = t->unit;
        return ABT_SUCCESS;
    }
    COMITY_CHECK(p->kind == pool_kind::user_by_structure && p->structure.p_pop_timedwait, ABT_ERR_POOL);
    *unit = p->structure.p_pop_timedwait(h, until);
    if (thread *t = *unit == ABT_UNIT_NULL ? nullptr : thread_of(*unit))
        t->pooled.store(false, std::memory_order_relaxed);
    return ABT_SUCCESS;
}

int ABT_pool_push(ABT_pool p, ABT_unit unit) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    thread *t = unit == ABT_UNIT_NULL ? nullptr : thread_of(unit);
    COMITY_CHECK(t, ABT_ERR_INV_UNIT);
    return push_to(of(p), t, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_remove(ABT_pool p, ABT_unit unit) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    thread *t = unit == ABT_UNIT_NULL ? nullptr : thread_of(unit);
    COMITY_CHECK(t, ABT_ERR_INV_UNIT);
    COMITY_CHECK(can_remove(of(p)), ABT_ERR_POOL);
    return take_out(of(p), t) ? ABT_SUCCESS : ABT_ERR_POOL;
}

int ABT_unit_get_thread(ABT_unit unit, ABT_thread *h) {
    *h = ABT_THREAD_NULL;
    COMITY_CHECK(unit != ABT_UNIT_NULL, ABT_ERR_INV_UNIT);
    thread *t = thread_of(unit);
    COMITY_CHECK(t, ABT_ERR_INV_UNIT);
    *h = handle(t);
    return ABT_SUCCESS;
}

// Argobots 1.1 and later: pushing says where a unit belongs.
int ABT_unit_set_associated_pool(ABT_unit unit, ABT_pool p) {
    COMITY_CHECK(unit != ABT_UNIT_NULL, ABT_ERR_INV_UNIT);
    return p ? ABT_SUCCESS : ABT_ERR_INV_POOL;
}

int ABT_pool_add_sched(ABT_pool p, ABT_sched h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    scheduler *d = of(h);
    COMITY_CHECK(take_into_use(d, scheduler::use::in_pool), ABT_ERR_INV_SCHED);
    int error = make_unit_of(d, unit_kind::ult) ? ABT_SUCCESS : ABT_ERR_MEM;
    if (error == ABT_SUCCESS) error = associate(d->unit, of(p));
    if (error != ABT_SUCCESS) {
        if (d->unit) destroy(d->unit);
        d->unit = nullptr;
        d->used.store(scheduler::use::none, std::memory_order_relaxed);
        return error;
    }
    d->unit->runs = d;
    push(of(p), d->unit, ABT_POOL_CONTEXT_OP_POOL_OTHER);
    return ABT_SUCCESS;
}
}
