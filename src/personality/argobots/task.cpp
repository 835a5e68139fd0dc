// The functions ABT_task_*: those of threads, with errors of their own.
#include "personality/argobots/check.hpp"
#include "personality/argobots/work.hpp"

using namespace comity::abt;

namespace {
int as_task_error(int error) { return error == ABT_ERR_INV_THREAD ? ABT_ERR_INV_TASK : error; }
} // namespace

extern "C" {

int ABT_task_revive(ABT_pool p, void (*fn)(void *), void *arg, ABT_task *t) {
    return as_task_error(ABT_thread_revive(p, fn, arg, t));
}
int ABT_task_free(ABT_task *t) { return as_task_error(ABT_thread_free(t)); }
int ABT_task_join(ABT_task t) { return as_task_error(ABT_thread_join(t)); }
int ABT_task_cancel(ABT_task t) { return as_task_error(ABT_thread_cancel(t)); }

int ABT_task_self(ABT_task *h) {
    *h = ABT_TASK_NULL;
    COMITY_CHECK_READY();
    thread *t = self();
    COMITY_CHECK(t, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(t->is_tasklet(), ABT_ERR_INV_TASK);
    *h = handle(t);
    return ABT_SUCCESS;
}

int ABT_task_self_id(uint64_t *id) {
    ABT_task h = ABT_TASK_NULL;
    COMITY_TRY(ABT_task_self(&h));
    *id = id_of(of(h));
    return ABT_SUCCESS;
}

int ABT_task_get_state(ABT_task h, ABT_task_state *state) {
    COMITY_CHECK(h && of(h)->is_tasklet(), ABT_ERR_INV_TASK);
    switch (of(h)->state.load(std::memory_order_acquire)) { // acquire[abt-state]
    case ABT_THREAD_STATE_READY:
        *state = ABT_TASK_STATE_READY;
        break;
    case ABT_THREAD_STATE_TERMINATED:
        *state = ABT_TASK_STATE_TERMINATED;
        break;
    default:
        *state = ABT_TASK_STATE_RUNNING;
    }
    return ABT_SUCCESS;
}

int ABT_task_get_xstream(ABT_task t, ABT_xstream *x) { return as_task_error(ABT_thread_get_last_xstream(t, x)); }
int ABT_task_get_last_pool(ABT_task t, ABT_pool *p) { return as_task_error(ABT_thread_get_last_pool(t, p)); }
int ABT_task_get_last_pool_id(ABT_task t, int *id) { return as_task_error(ABT_thread_get_last_pool_id(t, id)); }
int ABT_task_set_migratable(ABT_task t, ABT_bool is) { return as_task_error(ABT_thread_set_migratable(t, is)); }
int ABT_task_is_migratable(ABT_task t, ABT_bool *is) { return as_task_error(ABT_thread_is_migratable(t, is)); }
int ABT_task_equal(ABT_task a, ABT_task b, ABT_bool *result) { return ABT_thread_equal(a, b, result); }
int ABT_task_get_id(ABT_task t, uint64_t *id) { return as_task_error(ABT_thread_get_id(t, id)); }
int ABT_task_get_arg(ABT_task t, void **arg) { return as_task_error(ABT_thread_get_arg(t, arg)); }
}
