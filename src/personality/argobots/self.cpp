// The functions ABT_self_*: what the caller is, and how it stops.
#include "personality/argobots/check.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/work.hpp"

using namespace comity::abt;

namespace {

// The caller as a work unit; an error on a thread that is none.
int require_unit(thread *&t) {
    COMITY_CHECK_READY();
    t = self();
    return t ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM;
}

int require_ult(thread *&t) {
    COMITY_CHECK_READY();
    COMITY_CHECK(own_thread(), ABT_ERR_INV_XSTREAM);
    t = leaving_ult();
    return t ? ABT_SUCCESS : ABT_ERR_INV_THREAD;
}

// The caller, and the ULT that goes on in its place, which stands in no pool.
int require_two(ABT_thread h, thread *&me, thread *&to) {
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    to = of(h);
    COMITY_TRY(require_ult(me));
    COMITY_CHECK(!to->is_tasklet() && to->kind != unit_kind::main_scheduler && to != me, ABT_ERR_INV_THREAD);
    return give_stack(to) ? ABT_SUCCESS : ABT_ERR_MEM;
}

// The same for one that is suspended: it is so no more.
int require_suspended(ABT_thread h, thread *&me, thread *&to) {
    COMITY_TRY(require_two(h, me, to));
    COMITY_CHECK(to->state.load(std::memory_order_acquire) == ABT_THREAD_STATE_BLOCKED && // acquire[abt-state]
                     to->suspended.exchange(false, std::memory_order_relaxed),
                 ABT_ERR_THREAD);
    if (to->home) to->home->blocked.fetch_sub(1, std::memory_order_release); // release[abt-blocked]
    return ABT_SUCCESS;
}

} // namespace

extern "C" {

// ---- What the caller is

int ABT_self_get_xstream(ABT_xstream *x) {
    *x = ABT_XSTREAM_NULL;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *x = handle(t->on);
    return ABT_SUCCESS;
}

int ABT_self_get_xstream_rank(int *rank) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *rank = t->on->rank;
    return ABT_SUCCESS;
}

int ABT_self_get_thread(ABT_thread *h) {
    *h = ABT_THREAD_NULL;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *h = handle(t);
    return ABT_SUCCESS;
}

int ABT_self_get_thread_id(ABT_unit_id *id) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *id = id_of(t);
    return ABT_SUCCESS;
}

int ABT_self_get_type(ABT_unit_type *type) {
    *type = ABT_UNIT_TYPE_EXT;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *type = t->is_tasklet() ? ABT_UNIT_TYPE_TASK : ABT_UNIT_TYPE_THREAD;
    return ABT_SUCCESS;
}

int ABT_self_is_primary(ABT_bool *is) {
    *is = ABT_FALSE;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    COMITY_CHECK(!t->is_tasklet(), ABT_ERR_INV_THREAD);
    *is = t->kind == unit_kind::main_ult ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_self_on_primary_xstream(ABT_bool *is) {
    *is = ABT_FALSE;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *is = t->on->primary ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_self_is_unnamed(ABT_bool *is) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *is = t->named ? ABT_FALSE : ABT_TRUE;
    return ABT_SUCCESS;
}

int ABT_self_get_last_pool(ABT_pool *p) {
    *p = ABT_POOL_NULL;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *p = handle(t->home);
    return ABT_SUCCESS;
}

int ABT_self_get_last_pool_id(int *id) {
    *id = -1;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    if (t->home) *id = t->home->id;
    return ABT_SUCCESS;
}

int ABT_self_set_associated_pool(ABT_pool p) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    COMITY_CHECK(p, ABT_ERR_INV_POOL);
    return associate(t, of(p));
}

int ABT_self_get_unit(ABT_unit *unit) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *unit = t->unit;
    return ABT_SUCCESS;
}

int ABT_self_set_arg(void *arg) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    t->arg = arg;
    return ABT_SUCCESS;
}

int ABT_self_get_arg(void **arg) {
    *arg = nullptr;
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *arg = t->arg;
    return ABT_SUCCESS;
}

int ABT_self_get_thread_func(void (**fn)(void *)) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    *fn = t->fn;
    return ABT_SUCCESS;
}

// ---- How it stops

int ABT_self_yield(void) {
    thread *t = nullptr;
    COMITY_TRY(require_unit(t));
    COMITY_CHECK(!t->is_tasklet(), ABT_ERR_INV_THREAD);
    return ABT_thread_yield();
}

int ABT_self_yield_to(ABT_thread h) {
    thread *me = nullptr, *to = nullptr;
    COMITY_TRY(require_two(h, me, to));
    static_cast<void>(leave_to(me, to, after_going<ABT_POOL_CONTEXT_OP_THREAD_YIELD_TO>, me));
    return ABT_SUCCESS;
}

int ABT_self_resume_yield_to(ABT_thread h) {
    thread *me = nullptr, *to = nullptr;
    COMITY_TRY(require_suspended(h, me, to));
    static_cast<void>(leave_to(me, to, after_going<ABT_POOL_CONTEXT_OP_THREAD_RESUME_YIELD_TO>, me));
    return ABT_SUCCESS;
}

int ABT_self_suspend(void) {
    thread *t = nullptr;
    COMITY_TRY(require_ult(t));
    leave_to_parent(t, after_suspend, t);
    return ABT_SUCCESS;
}

int ABT_self_suspend_to(ABT_thread h) {
    thread *me = nullptr, *to = nullptr;
    COMITY_TRY(require_two(h, me, to));
    static_cast<void>(leave_to(me, to, after_suspend, me));
    return ABT_SUCCESS;
}

int ABT_self_resume_suspend_to(ABT_thread h) {
    thread *me = nullptr, *to = nullptr;
    COMITY_TRY(require_suspended(h, me, to));
    static_cast<void>(leave_to(me, to, after_suspend, me));
    return ABT_SUCCESS;
}

int ABT_self_exit(void) {
    thread *t = nullptr;
    COMITY_TRY(require_ult(t));
    COMITY_CHECK(t->kind != unit_kind::main_ult, ABT_ERR_INV_THREAD);
    exit_to_parent(t);
}

int ABT_self_exit_to(ABT_thread h) {
    thread *me = nullptr, *to = nullptr;
    COMITY_TRY(require_ult(me));
    COMITY_CHECK(me->kind != unit_kind::main_ult, ABT_ERR_INV_THREAD);
    COMITY_TRY(require_two(h, me, to));
    exit_to(me, to);
}

int ABT_self_resume_exit_to(ABT_thread h) {
    thread *me = nullptr, *to = nullptr;
    COMITY_TRY(require_ult(me));
    COMITY_CHECK(me->kind != unit_kind::main_ult, ABT_ERR_INV_THREAD);
    COMITY_TRY(require_suspended(h, me, to));
    exit_to(me, to);
}

int ABT_self_schedule(ABT_thread h, ABT_pool p) {
    COMITY_CHECK_READY();
    thread *me = own_thread();
    COMITY_CHECK(me, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(me->on->current == me, ABT_ERR_INV_THREAD); // a tasklet
    COMITY_CHECK(h, ABT_ERR_INV_THREAD);
    if (p) COMITY_TRY(associate(of(h), of(p)));
    if (me->runs) note_work(me->runs);
    pass_by(me->on);
    run(me, of(h));
    return ABT_SUCCESS;
}
}
