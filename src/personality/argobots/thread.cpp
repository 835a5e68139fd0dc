// The functions ABT_thread_*: create, end, join, resume, migrate, and what a ULT is.
#include "personality/argobots/attributes.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/work.hpp"

using namespace comity::abt;

namespace {

int create_in(pool *p, void (*fn)(void *), void *arg, unit_kind kind, ABT_thread_attr attr, ABT_thread *made) {
    thread *t = nullptr;
    if (made) *made = ABT_THREAD_NULL;
    COMITY_TRY(create(p, fn, arg, kind, options_of(attr), made != nullptr, t));
    if (made) *made = handle(t);
    push(p, t, ABT_POOL_CONTEXT_OP_THREAD_CREATE);
    return ABT_SUCCESS;
}

// The first pool of the stream's main scheduler.
pool *first_pool(ABT_xstream h) { return of(h)->main->num_pools ? of(h)->main->pools[0] : nullptr; }

// May anybody wait for its end?
bool can_be_joined(const thread *t) {
    return t != self() && t->kind != unit_kind::main_ult && t->kind != unit_kind::main_scheduler;
}

// The calling ULT, for functions that go on with another one.
int require_ult(thread *&t) {
    COMITY_CHECK(own_thread(), ABT_ERR_INV_XSTREAM);
    t = leaving_ult();
    return t ? ABT_SUCCESS : ABT_ERR_INV_THREAD;
}

int request_migration(thread *t, pool *to) {
    COMITY_CHECK(to, ABT_ERR_MIGRATION_TARGET);
    COMITY_CHECK(t->home != to, ABT_ERR_MIGRATION_TARGET);
    t->migrates_to.store(to, std::memory_order_release);         // release[abt-request]
    t->requests.fetch_or(to_migrate, std::memory_order_release); // release[abt-request]
    return ABT_SUCCESS;
}

int check_migratable(const thread *t) {
    const bool may = t->migratable.load(std::memory_order_relaxed) && t->kind != unit_kind::main_scheduler &&
                     t->kind != unit_kind::main_ult;
    return may ? ABT_SUCCESS : ABT_ERR_INV_THREAD;
}

pool *migration_pool(scheduler *d) {
    if (d->def.get_migr_pool) return of(d->def.get_migr_pool(handle(d)));
    return d->num_pools ? d->pools[0] : nullptr;
}

} // namespace

extern "C" {

// ---- Create and revive

int ABT_thread_create(ABT_pool p, void (*fn)(void *), void *arg, ABT_thread_attr attr, ABT_thread *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    return create_in(of(p), fn, arg, unit_kind::ult, attr, made);
}

int ABT_task_create(ABT_pool p, void (*fn)(void *), void *arg, ABT_task *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    return create_in(of(p), fn, arg, unit_kind::tasklet, ABT_THREAD_ATTR_NULL, made);
}

int ABT_thread_create_to(ABT_pool p, void (*fn)(void *), void *arg, ABT_thread_attr attr, ABT_thread *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    thread *me = nullptr, *t = nullptr;
    COMITY_TRY(require_ult(me));
    COMITY_TRY(create(of(p), fn, arg, unit_kind::ult, options_of(attr), made != nullptr, t));
    if (!give_stack(t)) {
        destroy(t);
        return ABT_ERR_MEM;
    }
    if (made) *made = handle(t);
    static_cast<void>(leave_to(me, t, after_going<ABT_POOL_CONTEXT_OP_THREAD_CREATE_TO>, me));
    return ABT_SUCCESS;
}

int ABT_thread_create_on_xstream(ABT_xstream h, void (*fn)(void *), void *arg, ABT_thread_attr attr, ABT_thread *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    return ABT_thread_create(handle(first_pool(h)), fn, arg, attr, made);
}

int ABT_task_create_on_xstream(ABT_xstream h, void (*fn)(void *), void *arg, ABT_task *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    return ABT_task_create(handle(first_pool(h)), fn, arg, made);
}

int ABT_thread_create_many(int num, ABT_pool *pools, void (**fns)(void *), void **args, ABT_thread_attr attr,
                           ABT_thread *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(!attr || !options_of(attr).stack_address, ABT_ERR_INV_THREAD_ATTR); // they would share the stack
    for (int i = 0; i < num; ++i)
        COMITY_TRY(ABT_thread_create(pools[i], fns[i], args ? args[i] : nullptr, attr, made ? &made[i] : nullptr));
    return ABT_SUCCESS;
}

int ABT_thread_revive(ABT_pool p, void (*fn)(void *), void *arg, ABT_thread *h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    COMITY_CHECK(*h && of(*h)->has_ended(), ABT_ERR_INV_THREAD);
    COMITY_TRY(revive(of(*h), of(p), fn, arg));
    push(of(p), of(*h), ABT_POOL_CONTEXT_OP_THREAD_REVIVE);
    return ABT_SUCCESS;
}

int ABT_thread_revive_to(ABT_pool p, void (*fn)(void *), void *arg, ABT_thread *h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    thread *me = nullptr;
    COMITY_TRY(require_ult(me));
    COMITY_CHECK(*h && !of(*h)->is_tasklet() && of(*h)->has_ended(), ABT_ERR_INV_THREAD);
    COMITY_TRY(revive(of(*h), of(p), fn, arg));
    return leave_to(me, of(*h), after_going<ABT_POOL_CONTEXT_OP_THREAD_REVIVE_TO>, me) ? ABT_SUCCESS : ABT_ERR_MEM;
}

// ---- End

int ABT_thread_join(ABT_thread h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h && can_be_joined(of(h)), ABT_ERR_INV_THREAD);
    join(of(h));
    return ABT_SUCCESS;
}

int ABT_thread_free(ABT_thread *h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(*h && can_be_joined(of(*h)), ABT_ERR_INV_THREAD);
    join(of(*h));
    destroy(of(*h));
    *h = ABT_THREAD_NULL;
    return ABT_SUCCESS;
}

int ABT_thread_join_many(int num, ABT_thread *list) {
    COMITY_CHECK_READY();
    for (int i = 0; i < num; ++i) COMITY_TRY(ABT_thread_join(list[i]));
    return ABT_SUCCESS;
}

int ABT_thread_free_many(int num, ABT_thread *list) {
    COMITY_CHECK_READY();
    for (int i = 0; i < num; ++i) COMITY_TRY(ABT_thread_free(&list[i]));
    return ABT_SUCCESS;
}

int ABT_thread_exit(void) { return ABT_self_exit(); }

int ABT_thread_cancel(ABT_thread h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h && of(h)->kind != unit_kind::main_ult, ABT_ERR_INV_THREAD);
    of(h)->requests.fetch_or(to_cancel, std::memory_order_release); // release[abt-request]
    return ABT_SUCCESS;
}

// ---- Stop and go on

int ABT_thread_yield(void) {
    COMITY_CHECK_READY();
    if (thread *t = leaving_ult())
        leave_to_parent(t, after_yield, t);
    else if (own_thread())
        pass_time();
    return ABT_SUCCESS;
}

int ABT_thread_yield_to(ABT_thread h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h && !of(h)->is_tasklet(), ABT_ERR_INV_THREAD);
    thread *me = nullptr, *t = of(h);
    COMITY_TRY(require_ult(me));
    COMITY_CHECK(t != me, ABT_ERR_INV_THREAD);
    COMITY_CHECK(t->home && can_remove(t->home), ABT_ERR_POOL);
    if (!take_out(t->home, t)) return ABT_thread_yield(); // somebody else has just taken it up
    if (leave_to(me, t, after_going<ABT_POOL_CONTEXT_OP_THREAD_YIELD_TO>, me)) return ABT_SUCCESS;
    push(t->home, t, ABT_POOL_CONTEXT_OP_POOL_OTHER);
    return ABT_ERR_MEM;
}

int ABT_thread_resume(ABT_thread h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h && !of(h)->is_tasklet(), ABT_ERR_INV_THREAD);
    thread *t = of(h);
    COMITY_CHECK(t->state.load(std::memory_order_acquire) == ABT_THREAD_STATE_BLOCKED && // acquire[abt-state]
                     t->suspended.exchange(false, std::memory_order_relaxed),
                 ABT_ERR_THREAD);
    make_ready(t, ABT_POOL_CONTEXT_OP_THREAD_RESUME);
    return ABT_SUCCESS;
}

// ---- Migrate

int ABT_thread_migrate_to_pool(ABT_thread h, ABT_pool p) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    COMITY_TRY(check_migratable(of(h)));
    return request_migration(of(h), of(p));
}

int ABT_thread_migrate_to_sched(ABT_thread h, ABT_sched d) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    COMITY_CHECK(d, ABT_ERR_INV_SCHED);
    COMITY_TRY(check_migratable(of(h)));
    return request_migration(of(h), migration_pool(of(d)));
}

int ABT_thread_migrate_to_xstream(ABT_thread h, ABT_xstream x) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    COMITY_CHECK(x && of(x)->state.load(std::memory_order_relaxed) != ABT_XSTREAM_STATE_TERMINATED,
                 ABT_ERR_INV_XSTREAM);
    return ABT_thread_migrate_to_sched(h, handle(of(x)->main));
}

int ABT_thread_migrate(ABT_thread h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    COMITY_TRY(check_migratable(of(h)));
    stream *to = migration_target(of(h)->on);
    COMITY_CHECK(to, ABT_ERR_MIGRATION_NA);
    return request_migration(of(h), migration_pool(to->main));
}

int ABT_thread_set_callback(ABT_thread h, void (*fn)(ABT_thread, void *), void *arg) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    of(h)->on_migration = fn;
    of(h)->migration_arg = arg;
    return ABT_SUCCESS;
}

int ABT_thread_set_migratable(ABT_thread h, ABT_bool migratable) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    if (of(h)->kind != unit_kind::main_ult && of(h)->kind != unit_kind::main_scheduler) // theirs cannot be changed
        of(h)->migratable.store(migratable != ABT_FALSE, std::memory_order_relaxed);
    return ABT_SUCCESS;
}

int ABT_thread_is_migratable(ABT_thread h, ABT_bool *is) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *is = of(h)->migratable.load(std::memory_order_relaxed) ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

// ---- What it is

int ABT_thread_self(ABT_thread *h) {
    *h = ABT_THREAD_NULL;
    COMITY_CHECK_READY();
    thread *t = self();
    COMITY_CHECK(t, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(!t->is_tasklet(), ABT_ERR_INV_THREAD);
    *h = handle(t);
    return ABT_SUCCESS;
}

int ABT_thread_self_id(ABT_unit_id *id) {
    ABT_thread h = ABT_THREAD_NULL;
    COMITY_TRY(ABT_thread_self(&h));
    *id = id_of(of(h));
    return ABT_SUCCESS;
}

int ABT_thread_get_last_xstream(ABT_thread h, ABT_xstream *x) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *x = handle(of(h)->on);
    return ABT_SUCCESS;
}

int ABT_thread_get_state(ABT_thread h, ABT_thread_state *state) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *state = static_cast<ABT_thread_state>(of(h)->state.load(std::memory_order_acquire)); // acquire[abt-state]
    return ABT_SUCCESS;
}

int ABT_thread_get_last_pool(ABT_thread h, ABT_pool *p) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *p = handle(of(h)->home);
    return ABT_SUCCESS;
}

int ABT_thread_get_last_pool_id(ABT_thread h, int *id) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *id = of(h)->home ? of(h)->home->id : -1;
    return ABT_SUCCESS;
}

int ABT_thread_get_unit(ABT_thread h, ABT_unit *unit) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *unit = of(h)->unit;
    return ABT_SUCCESS;
}

int ABT_thread_set_associated_pool(ABT_thread h, ABT_pool p) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    return associate(of(h), of(p));
}

int ABT_thread_is_primary(ABT_thread h, ABT_bool *is) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *is = of(h)->kind == unit_kind::main_ult ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_is_unnamed(ABT_thread h, ABT_bool *is) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *is = of(h)->named ? ABT_FALSE : ABT_TRUE;
    return ABT_SUCCESS;
}

int ABT_thread_equal(ABT_thread a, ABT_thread b, ABT_bool *result) {
    *result = a == b ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_get_stacksize(ABT_thread h, size_t *size) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *size = of(h)->stack_size;
    return ABT_SUCCESS;
}

int ABT_thread_get_stack(ABT_thread h, void **address, size_t *size) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    const thread_options now = attributes_of(of(h));
    if (address) *address = now.stack_address;
    if (size) *size = now.stack_size;
    return ABT_SUCCESS;
}

int ABT_thread_get_id(ABT_thread h, ABT_unit_id *id) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *id = id_of(of(h));
    return ABT_SUCCESS;
}

int ABT_thread_set_arg(ABT_thread h, void *arg) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    of(h)->arg = arg;
    return ABT_SUCCESS;
}

int ABT_thread_get_arg(ABT_thread h, void **arg) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *arg = of(h)->arg;
    return ABT_SUCCESS;
}

int ABT_thread_get_thread_func(ABT_thread h, void (**fn)(void *)) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    *fn = of(h)->fn;
    return ABT_SUCCESS;
}
}
