// The functions ABT_sched_*.
#include "personality/argobots/check.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/streams.hpp"

using namespace comity::abt;

extern "C" {

int ABT_sched_create(ABT_sched_def *def, int num_pools, ABT_pool *pools, ABT_sched_config config, ABT_sched *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(made && def && def->run, ABT_ERR_SCHED);
    *made = ABT_SCHED_NULL;
    COMITY_CHECK(num_pools >= 0, ABT_ERR_INV_ARG);
    COMITY_CHECK(pools || num_pools == 0, ABT_ERR_INV_ARG);
    scheduler *d = nullptr;
    COMITY_TRY(make_scheduler(*def, num_pools, pools, config, false, d));
    *made = handle(d);
    return ABT_SUCCESS;
}

int ABT_sched_create_basic(ABT_sched_predef predef, int num_pools, ABT_pool *pools, ABT_sched_config config,
                           ABT_sched *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(made, ABT_ERR_SCHED);
    *made = ABT_SCHED_NULL;
    COMITY_CHECK(num_pools >= 0, ABT_ERR_INV_ARG);
    scheduler *d = nullptr;
    COMITY_TRY(make_scheduler(predef, num_pools, pools, config, d));
    *made = handle(d);
    return ABT_SUCCESS;
}

int ABT_sched_free(ABT_sched *h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(*h, ABT_ERR_INV_SCHED);
    COMITY_CHECK(of(*h)->used.load(std::memory_order_relaxed) == scheduler::use::none, ABT_ERR_SCHED);
    free_scheduler(of(*h));
    *h = ABT_SCHED_NULL;
    return ABT_SUCCESS;
}

int ABT_sched_set_data(ABT_sched h, void *data) {
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    of(h)->data = data;
    return ABT_SUCCESS;
}

int ABT_sched_get_data(ABT_sched h, void **data) {
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    *data = of(h)->data;
    return ABT_SUCCESS;
}

int ABT_sched_get_num_pools(ABT_sched h, int *num) {
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    *num = of(h)->num_pools;
    return ABT_SUCCESS;
}

int ABT_sched_get_pools(ABT_sched h, int max_pools, int idx, ABT_pool *pools) {
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    COMITY_CHECK(max_pools >= 0 && idx >= 0, ABT_ERR_INV_ARG);
    COMITY_CHECK(idx + max_pools <= of(h)->num_pools, ABT_ERR_SCHED);
    for (int i = 0; i < max_pools; ++i) pools[i] = handle(of(h)->pools[idx + i]);
    return ABT_SUCCESS;
}

int ABT_sched_get_size(ABT_sched h, size_t *size) {
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    *size = 0;
    for (int i = 0; i < of(h)->num_pools; ++i) {
        size_t n = 0;
        COMITY_CHECK(size_of(of(h)->pools[i], n), ABT_ERR_POOL);
        *size += n;
    }
    return ABT_SUCCESS;
}

int ABT_sched_get_total_size(ABT_sched h, size_t *size) {
    COMITY_TRY(ABT_sched_get_size(h, size));
    for (int i = 0; i < of(h)->num_pools; ++i)
        *size += static_cast<size_t>(of(h)->pools[i]->blocked.load(std::memory_order_relaxed));
    return ABT_SUCCESS;
}

int ABT_sched_finish(ABT_sched h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    ask(of(h), sched_finish);
    return ABT_SUCCESS;
}

int ABT_sched_exit(ABT_sched h) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    ask(of(h), sched_exit);
    return ABT_SUCCESS;
}

int ABT_sched_has_to_stop(ABT_sched h, ABT_bool *stop) {
    *stop = ABT_FALSE;
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_SCHED);
    COMITY_CHECK(comity::core::current_context() && comity::core::current_context()->owner == the_streams(),
                 ABT_ERR_INV_XSTREAM);
    *stop = has_to_stop(of(h)) ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}
}
