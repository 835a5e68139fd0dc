// The functions ABT_xstream_*.
#include "personality/argobots/check.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/work.hpp"

using namespace comity::abt;

namespace {

int create_stream(scheduler *d, int rank, ABT_xstream *made) {
    int error = ABT_SUCCESS;
    stream *s = make_stream(d, rank, error);
    if (!s) return error;
    *made = handle(s);
    the_streams()->make_ready(s->stack);
    return ABT_SUCCESS;
}

int create_stream(ABT_sched sched, int rank, ABT_xstream *made) {
    scheduler *d = of(sched);
    if (!d) COMITY_TRY(make_scheduler(ABT_SCHED_DEFAULT, 0, nullptr, ABT_SCHED_CONFIG_NULL, d));
    COMITY_CHECK(take_into_use(d, scheduler::use::main), ABT_ERR_INV_SCHED);
    const int error = create_stream(d, rank, made);
    if (error == ABT_SUCCESS) return error;
    d->used.store(scheduler::use::none, std::memory_order_relaxed);
    if (!sched) free_scheduler(d);
    return error;
}

// Another ULT of the stream had asked for a new main scheduler, which has not begun: it is replaced at once.
void forget_replacement(scheduler *main) {
    scheduler *d = main->replaced_by;
    thread *who = main->replacer;
    if (!d) return;
    main->replaced_by = nullptr;
    stop_being_main(d);
    make_ready(who, ABT_POOL_CONTEXT_OP_THREAD_RESUME);
}

// The calling ULT's stream gets another main scheduler; the ULT goes on under it.
int replace_own_main(stream *s, thread *t, scheduler *d) {
    COMITY_CHECK(t->on == s && d->num_pools > 0, ABT_ERR_XSTREAM_STATE);
    scheduler *main = s->main;
    bool in_old = false;
    for (int i = 0; i < main->num_pools; ++i) in_old = in_old || main->pools[i] == t->home;
    if (in_old) COMITY_TRY(associate(t, d->pools[0]));
    forget_replacement(main);
    main->replaced_by = d;
    main->replacer = t;
    leave_to_parent(
        t,
        [](void *argument) {
            auto *t = static_cast<thread *>(argument);
            mark_blocked(t);
            ask(t->on->main, sched_replace);
        },
        t);
    return ABT_SUCCESS;
}

int set_main(stream *s, thread *t, scheduler *d) {
    COMITY_CHECK(take_into_use(d, scheduler::use::main), ABT_ERR_INV_SCHED);
    int error = make_unit_of(d, unit_kind::main_scheduler) ? ABT_SUCCESS : ABT_ERR_MEM;
    const int state = s->state.load(std::memory_order_acquire); // acquire[abt-state]
    if (error == ABT_SUCCESS && state == ABT_XSTREAM_STATE_TERMINATED) {
        join_stream(s);
        scheduler *old = s->main;
        become_main(s, d);
        stop_being_main(old);
        return ABT_SUCCESS;
    }
    if (error == ABT_SUCCESS) error = replace_own_main(s, t, d);
    if (error == ABT_SUCCESS) return error;
    if (d->unit) {
        destroy(d->unit);
        d->unit = nullptr;
    }
    d->used.store(scheduler::use::none, std::memory_order_relaxed);
    return error;
}

} // namespace

extern "C" {

int ABT_xstream_create(ABT_sched sched, ABT_xstream *newxstream) {
    COMITY_CHECK_READY();
    *newxstream = ABT_XSTREAM_NULL;
    return create_stream(sched, -1, newxstream);
}

int ABT_xstream_create_basic(ABT_sched_predef predef, int num_pools, ABT_pool *pools, ABT_sched_config config,
                             ABT_xstream *newxstream) {
    COMITY_CHECK_READY();
    *newxstream = ABT_XSTREAM_NULL;
    COMITY_CHECK(num_pools >= 0, ABT_ERR_INV_ARG);
    scheduler *d = nullptr;
    COMITY_TRY(make_scheduler(predef, num_pools, pools, config, d));
    const int error = create_stream(handle(d), -1, newxstream);
    if (error != ABT_SUCCESS) free_scheduler(d);
    return error;
}

int ABT_xstream_create_with_rank(ABT_sched sched, int rank, ABT_xstream *newxstream) {
    COMITY_CHECK_READY();
    *newxstream = ABT_XSTREAM_NULL;
    COMITY_CHECK(rank >= 0, ABT_ERR_INV_XSTREAM_RANK);
    return create_stream(sched, rank, newxstream);
}

int ABT_xstream_join(ABT_xstream h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    stream *s = of(h);
    COMITY_CHECK(!s->primary && self() != s->main->unit, ABT_ERR_INV_XSTREAM);
    join_stream(s); // the caller may run on it: others take it up again from a pool that they share
    return ABT_SUCCESS;
}

int ABT_xstream_free(ABT_xstream *h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(*h && of(*h) != own_stream(), ABT_ERR_INV_XSTREAM);
    COMITY_TRY(ABT_xstream_join(*h));
    free_stream(of(*h));
    *h = ABT_XSTREAM_NULL;
    return ABT_SUCCESS;
}

int ABT_xstream_revive(ABT_xstream h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    stream *s = of(h);
    COMITY_CHECK(s->state.load(std::memory_order_acquire) == ABT_XSTREAM_STATE_TERMINATED,
                 ABT_ERR_INV_XSTREAM); // acquire[abt-state]
    join_stream(s);                    // until whoever ended it is through
    s->requests.store(0, std::memory_order_relaxed);
    s->main->requests.store(0, std::memory_order_relaxed);
    s->joiner.store(nullptr, std::memory_order_relaxed);
    s->state.store(ABT_XSTREAM_STATE_RUNNING, std::memory_order_relaxed);
    s->stack->local = s->main->unit;
    the_streams()->make_ready(s->stack);
    return ABT_SUCCESS;
}

int ABT_xstream_exit(void) {
    COMITY_CHECK_READY();
    COMITY_CHECK(own_thread(), ABT_ERR_INV_XSTREAM);
    thread *t = leaving_ult();
    COMITY_CHECK(t && t->kind != unit_kind::main_ult, ABT_ERR_INV_THREAD);
    COMITY_CHECK(!t->on->primary, ABT_ERR_INV_XSTREAM);
    t->on->requests.fetch_or(sched_exit, std::memory_order_release); // release[abt-request]
    exit_to_parent(t);
}

int ABT_xstream_cancel(ABT_xstream h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h && !of(h)->primary, ABT_ERR_INV_XSTREAM);
    of(h)->requests.fetch_or(sched_exit, std::memory_order_release); // release[abt-request]
    wake(of(h));
    return ABT_SUCCESS;
}

int ABT_xstream_self(ABT_xstream *h) { return ABT_self_get_xstream(h); }
int ABT_xstream_self_rank(int *rank) { return ABT_self_get_xstream_rank(rank); }

int ABT_xstream_set_rank(ABT_xstream h, int rank) {
    COMITY_CHECK_READY();
    COMITY_CHECK(rank >= 0, ABT_ERR_INV_XSTREAM_RANK);
    COMITY_CHECK(h && !of(h)->primary, ABT_ERR_INV_XSTREAM);
    return set_rank(of(h), rank) ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM_RANK;
}

int ABT_xstream_get_rank(ABT_xstream h, int *rank) {
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    *rank = of(h)->rank;
    return ABT_SUCCESS;
}

int ABT_xstream_set_main_sched(ABT_xstream h, ABT_sched sched) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(own_thread(), ABT_ERR_INV_XSTREAM);
    thread *t = leaving_ult();
    COMITY_CHECK(t, ABT_ERR_INV_THREAD);
    scheduler *d = of(sched);
    if (!d) COMITY_TRY(make_scheduler(ABT_SCHED_DEFAULT, 0, nullptr, ABT_SCHED_CONFIG_NULL, d));
    const int error = set_main(of(h), t, d);
    if (error != ABT_SUCCESS && !sched) free_scheduler(d);
    return error;
}

int ABT_xstream_set_main_sched_basic(ABT_xstream h, ABT_sched_predef predef, int num_pools, ABT_pool *pools) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(own_thread(), ABT_ERR_INV_XSTREAM);
    thread *t = leaving_ult();
    COMITY_CHECK(t, ABT_ERR_INV_THREAD);
    COMITY_CHECK(num_pools >= 0, ABT_ERR_INV_ARG);
    scheduler *d = nullptr;
    COMITY_TRY(make_scheduler(predef, num_pools, pools, ABT_SCHED_CONFIG_NULL, d));
    const int error = set_main(of(h), t, d);
    if (error != ABT_SUCCESS) free_scheduler(d);
    return error;
}

int ABT_xstream_get_main_sched(ABT_xstream h, ABT_sched *sched) {
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    *sched = handle(of(h)->main);
    return ABT_SUCCESS;
}

int ABT_xstream_get_main_pools(ABT_xstream h, int max_pools, ABT_pool *pools) {
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(max_pools >= 0, ABT_ERR_INV_ARG);
    const scheduler *d = of(h)->main;
    for (int i = 0; i < max_pools && i < d->num_pools; ++i) pools[i] = handle(d->pools[i]);
    return ABT_SUCCESS;
}

int ABT_xstream_get_state(ABT_xstream h, ABT_xstream_state *state) {
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    *state = static_cast<ABT_xstream_state>(of(h)->state.load(std::memory_order_acquire)); // acquire[abt-state]
    return ABT_SUCCESS;
}

int ABT_xstream_equal(ABT_xstream a, ABT_xstream b, ABT_bool *result) {
    *result = a == b ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_xstream_get_num(int *num_xstreams) {
    COMITY_CHECK_READY();
    *num_xstreams = count_streams();
    return ABT_SUCCESS;
}

int ABT_xstream_is_primary(ABT_xstream h, ABT_bool *is_primary) {
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    *is_primary = of(h)->primary ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_xstream_run_unit(ABT_unit unit, ABT_pool pool) {
    COMITY_CHECK_READY();
    COMITY_CHECK(own_thread(), ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(unit != ABT_UNIT_NULL, ABT_ERR_INV_UNIT);
    COMITY_CHECK(pool, ABT_ERR_INV_POOL);
    thread *t = thread_of(unit);
    COMITY_CHECK(t, ABT_ERR_INV_UNIT);
    return ABT_self_schedule(handle(t), pool);
}

int ABT_xstream_check_events(ABT_sched sched) {
    COMITY_CHECK_READY();
    thread *t = own_thread();
    COMITY_CHECK(t, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(sched, ABT_ERR_INV_SCHED);
    COMITY_CHECK(t->on->current == t && of(sched)->unit == t, ABT_ERR_INV_THREAD);
    check_events(t->on, of(sched));
    return ABT_SUCCESS;
}
}
