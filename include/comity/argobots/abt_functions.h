/* The functions of Argobots 1.2. Include abt.h.
 *
 * All but ABT_get_wtime return ABT_SUCCESS or an error. Beside those named below: ABT_ERR_UNINITIALIZED outside
 * ABT_init … ABT_finalize, ABT_ERR_INV_X for a null handle of kind X, ABT_ERR_MEM when memory is gone. Then nothing has
 * happened, and what would have been made is null.
 *
 * "Where": any — any thread of the program, streams and others, but no signal handler; unit — a work unit, else
 * ABT_ERR_INV_XSTREAM; ULT — a ULT (a scheduler is one), else ABT_ERR_INV_XSTREAM, or ABT_ERR_INV_THREAD in a tasklet.
 * A function "may switch" where it says so, and no other does: it may return on another kernel thread, since streams
 * move between harts, and in a ULT others of the stream run meanwhile. In a scheduler or tasklet that waits, the whole
 * stream does.
 *
 * The model is that of Iwasaki, "Lightweight user-level threads" (2019), chapter 3, and of Seo et al., "Argobots: A
 * Lightweight Low-Level Threading and Tasking Framework" (2018). */
#ifndef COMITY_ABT_FUNCTIONS_H
#define COMITY_ABT_FUNCTIONS_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Begin and end. Where: any thread; ABT_init holds the calling thread's hart, or waits for one, and may switch. */

/* The caller becomes the main ULT, on the primary stream. Calls may be nested; only the first counts. The arguments are
 * not used. */
ABT_API_PUBLIC int ABT_init(int argc, char **argv);
/* Ends the innermost ABT_init. The outermost: runs what is left in the primary stream's pools, ends all other streams,
 * and frees everything; the main ULT only (ABT_ERR_INV_THREAD, ABT_ERR_INV_XSTREAM). May switch. */
ABT_API_PUBLIC int ABT_finalize(void);
/* ABT_SUCCESS between ABT_init and ABT_finalize, else ABT_ERR_UNINITIALIZED. */
ABT_API_PUBLIC int ABT_initialized(void);

/* ---- Execution streams: a scheduler with its pools, which runs on whichever hart is free. There may be more than
 * harts. Where: any. */

/* A stream with this main scheduler (null: the default one), at work at once. ABT_ERR_INV_SCHED: the scheduler is in
 * use. */
ABT_API_PUBLIC int ABT_xstream_create(ABT_sched sched, ABT_xstream *newxstream);
/* The same with a predefined scheduler over these pools (null: new ones). ABT_ERR_INV_ARG: num_pools < 0;
 * ABT_ERR_INV_SCHED_PREDEF. */
ABT_API_PUBLIC int ABT_xstream_create_basic(ABT_sched_predef predef, int num_pools, ABT_pool *pools,
                                            ABT_sched_config config, ABT_xstream *newxstream);
/* The same with a rank >= 0 that no stream has (ABT_ERR_INV_XSTREAM_RANK). */
ABT_API_PUBLIC int ABT_xstream_create_with_rank(ABT_sched sched, int rank, ABT_xstream *newxstream);
/* Joins the stream and frees it; not the primary one, nor the caller's (ABT_ERR_INV_XSTREAM). May switch. */
ABT_API_PUBLIC int ABT_xstream_free(ABT_xstream *xstream);
/* Asks the stream to end when its pools are empty and nobody of theirs waits, and returns when it has. Not the primary
 * one. May switch. */
ABT_API_PUBLIC int ABT_xstream_join(ABT_xstream xstream);
/* A stream that has ended begins again (else ABT_ERR_INV_XSTREAM). */
ABT_API_PUBLIC int ABT_xstream_revive(ABT_xstream xstream);
/* Ends the calling ULT, and its stream at its next look at events. ULT, not on the primary stream. Switches. */
ABT_API_PUBLIC int ABT_xstream_exit(void);
/* The stream ends at its next look at events, whatever its pools hold; not the primary one. */
ABT_API_PUBLIC int ABT_xstream_cancel(ABT_xstream xstream);
/* The calling work unit's stream. Where: unit. */
ABT_API_PUBLIC int ABT_xstream_self(ABT_xstream *xstream);
/* Its rank. Where: unit. */
ABT_API_PUBLIC int ABT_xstream_self_rank(int *rank);
/* A rank >= 0 that no stream has (ABT_ERR_INV_XSTREAM_RANK); not of the primary stream. */
ABT_API_PUBLIC int ABT_xstream_set_rank(ABT_xstream xstream, int rank);
ABT_API_PUBLIC int ABT_xstream_get_rank(ABT_xstream xstream, int *rank);
/* Gives the stream another main scheduler (null: the default one): one that has ended, or the calling ULT's own (else
 * ABT_ERR_XSTREAM_STATE), which goes on in the new scheduler's first pool. Where: ULT. May switch. */
ABT_API_PUBLIC int ABT_xstream_set_main_sched(ABT_xstream xstream, ABT_sched sched);
/* The same with a predefined scheduler. */
ABT_API_PUBLIC int ABT_xstream_set_main_sched_basic(ABT_xstream xstream, ABT_sched_predef predef, int num_pools,
                                                    ABT_pool *pools);
ABT_API_PUBLIC int ABT_xstream_get_main_sched(ABT_xstream xstream, ABT_sched *sched);
/* At most max_pools (>= 0) of the main scheduler's pools. */
ABT_API_PUBLIC int ABT_xstream_get_main_pools(ABT_xstream xstream, int max_pools, ABT_pool *pools);
ABT_API_PUBLIC int ABT_xstream_get_state(ABT_xstream xstream, ABT_xstream_state *state);
ABT_API_PUBLIC int ABT_xstream_equal(ABT_xstream xstream1, ABT_xstream xstream2, ABT_bool *result);
/* How many streams there are. */
ABT_API_PUBLIC int ABT_xstream_get_num(int *num_xstreams);
ABT_API_PUBLIC int ABT_xstream_is_primary(ABT_xstream xstream, ABT_bool *is_primary);
/* Runs a unit that is in no pool as a child of the calling ULT, after it was associated with the pool. Returns when it
 * has ended or stopped. Where: ULT. Switches. */
ABT_API_PUBLIC int ABT_xstream_run_unit(ABT_unit unit, ABT_pool pool);
/* To be called by a scheduler now and then: takes notice of requests, lets other streams have the hart, and sleeps
 * after it has run nothing for a while. Where: the scheduler's own ULT (ABT_ERR_INV_THREAD). May switch. */
ABT_API_PUBLIC int ABT_xstream_check_events(ABT_sched sched);
/* ABT_ERR_FEATURE_NA: harts are bound to cores, streams to none. */
ABT_API_PUBLIC int ABT_xstream_set_cpubind(ABT_xstream xstream, int cpuid);
ABT_API_PUBLIC int ABT_xstream_get_cpubind(ABT_xstream xstream, int *cpuid);
ABT_API_PUBLIC int ABT_xstream_set_affinity(ABT_xstream xstream, int num_cpuids, int *cpuids);
ABT_API_PUBLIC int ABT_xstream_get_affinity(ABT_xstream xstream, int max_cpuids, int *cpuids, int *num_cpuids);

/* ---- A barrier at which whole streams wait, and not only ULTs. Where: any. */

/* For num_waiters > 0 (ABT_ERR_INV_ARG). */
ABT_API_PUBLIC int ABT_xstream_barrier_create(uint32_t num_waiters, ABT_xstream_barrier *newbarrier);
ABT_API_PUBLIC int ABT_xstream_barrier_free(ABT_xstream_barrier *barrier);
/* Returns when all have come. Stops the caller's stream; its hart goes to another. May switch. */
ABT_API_PUBLIC int ABT_xstream_barrier_wait(ABT_xstream_barrier barrier);

/* ---- Schedulers. Where: any. */

/* One of the program's own, over these pools (null among them: new ones). What its init returns, if not ABT_SUCCESS;
 * ABT_ERR_INV_ARG: num_pools < 0; ABT_ERR_SCHED: no run function. Not freed by itself, unless the configuration says
 * so. */
ABT_API_PUBLIC int ABT_sched_create(ABT_sched_def *def, int num_pools, ABT_pool *pools, ABT_sched_config config,
                                    ABT_sched *newsched);
/* A predefined one; pools null: new ones, as many as it needs. Freed with the stream that it is of, unless the
 * configuration says otherwise. ABT_ERR_INV_ARG, ABT_ERR_INV_SCHED_PREDEF. */
ABT_API_PUBLIC int ABT_sched_create_basic(ABT_sched_predef predef, int num_pools, ABT_pool *pools,
                                          ABT_sched_config config, ABT_sched *newsched);
/* ABT_ERR_SCHED: it is in use. */
ABT_API_PUBLIC int ABT_sched_free(ABT_sched *sched);
/* A pointer of the program's. */
ABT_API_PUBLIC int ABT_sched_set_data(ABT_sched sched, void *data);
ABT_API_PUBLIC int ABT_sched_get_data(ABT_sched sched, void **data);
ABT_API_PUBLIC int ABT_sched_get_num_pools(ABT_sched sched, int *num_pools);
/* The pools idx … idx + max_pools - 1; ABT_ERR_INV_ARG: negative; ABT_ERR_SCHED: there are fewer. */
ABT_API_PUBLIC int ABT_sched_get_pools(ABT_sched sched, int max_pools, int idx, ABT_pool *pools);
/* How many work units are in its pools; get_total_size: also those that wait for something. ABT_ERR_POOL: a pool cannot
 * tell. */
ABT_API_PUBLIC int ABT_sched_get_size(ABT_sched sched, size_t *size);
ABT_API_PUBLIC int ABT_sched_get_total_size(ABT_sched sched, size_t *size);
/* It shall stop when its pools are empty and nobody of theirs waits. */
ABT_API_PUBLIC int ABT_sched_finish(ABT_sched sched);
/* It shall stop. */
ABT_API_PUBLIC int ABT_sched_exit(ABT_sched sched);
/* Shall it stop now? Where: unit. */
ABT_API_PUBLIC int ABT_sched_has_to_stop(ABT_sched sched, ABT_bool *stop);

/* ---- Configurations of schedulers: values by number, of a type. Where: any. */

extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_var_end; /* ends the arguments of ABT_sched_config_create */
extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_basic_freq; /* how many work units between two looks at events */
extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_access;    /* without effect */
extern ABT_API_PUBLIC ABT_sched_config_var ABT_sched_config_automatic; /* is the scheduler freed with its work unit? */
/* The arguments: ABT_sched_config_var and its value, again and again, then ABT_sched_config_var_end. ABT_ERR_INV_ARG:
 * no such type. */
ABT_API_PUBLIC int ABT_sched_config_create(ABT_sched_config *config, ...);
/* Copies the values of the numbers 0 … num_vars - 1 to where the arguments point; those that are null, or have no
 * value, stay. */
ABT_API_PUBLIC int ABT_sched_config_read(ABT_sched_config config, int num_vars, ...);
ABT_API_PUBLIC int ABT_sched_config_free(ABT_sched_config *config);
/* ABT_ERR_INV_ARG: no such type. val null: removes it. */
ABT_API_PUBLIC int ABT_sched_config_set(ABT_sched_config config, int idx, ABT_sched_config_type type, const void *val);
/* ABT_ERR_INV_ARG: there is none. */
ABT_API_PUBLIC int ABT_sched_config_get(ABT_sched_config config, int idx, ABT_sched_config_type *p_type, void *val);

/* ---- Pools. Where: any. "op" says what a program's own pool is told of the call; the functions without it tell
 * OP_POOL_OTHER. */

/* One of the program's own, after a definition. What its init returns, if not ABT_SUCCESS. Not freed by itself, unless
 * the configuration says so. */
ABT_API_PUBLIC int ABT_pool_create(ABT_pool_user_def def, ABT_pool_config config, ABT_pool *newpool);
/* automatic: freed with the last scheduler that has it. ABT_ERR_INV_POOL_KIND, ABT_ERR_INV_POOL_ACCESS. */
ABT_API_PUBLIC int ABT_pool_create_basic(ABT_pool_kind kind, ABT_pool_access access, ABT_bool automatic,
                                         ABT_pool *newpool);
/* ABT_ERR_POOL: it is not empty, or a scheduler has it. */
ABT_API_PUBLIC int ABT_pool_free(ABT_pool *pool);
ABT_API_PUBLIC int ABT_pool_get_access(ABT_pool pool, ABT_pool_access *access);
ABT_API_PUBLIC int ABT_pool_is_empty(ABT_pool pool, ABT_bool *is_empty);
/* How many work units are in it; get_total_size: also those associated with it that wait. ABT_ERR_POOL: it cannot tell.
 */
ABT_API_PUBLIC int ABT_pool_get_size(ABT_pool pool, size_t *size);
ABT_API_PUBLIC int ABT_pool_get_total_size(ABT_pool pool, size_t *size);
/* Takes a work unit out; null: there is none. */
ABT_API_PUBLIC int ABT_pool_pop_thread(ABT_pool pool, ABT_thread *thread);
ABT_API_PUBLIC int ABT_pool_pop_thread_ex(ABT_pool pool, ABT_thread *thread, ABT_pool_context pool_ctx);
/* Up to len of them; num: how many. ABT_ERR_POOL: the pool has no such function, as below. */
ABT_API_PUBLIC int ABT_pool_pop_threads(ABT_pool pool, ABT_thread *threads, size_t len, size_t *num);
ABT_API_PUBLIC int ABT_pool_pop_threads_ex(ABT_pool pool, ABT_thread *threads, size_t len, size_t *num,
                                           ABT_pool_context pool_ctx);
/* Associates the work unit, which is in no pool, with the pool and puts it in. Null: does nothing. */
ABT_API_PUBLIC int ABT_pool_push_thread(ABT_pool pool, ABT_thread thread);
ABT_API_PUBLIC int ABT_pool_push_thread_ex(ABT_pool pool, ABT_thread thread, ABT_pool_context pool_ctx);
/* num of them. */
ABT_API_PUBLIC int ABT_pool_push_threads(ABT_pool pool, const ABT_thread *threads, size_t num);
ABT_API_PUBLIC int ABT_pool_push_threads_ex(ABT_pool pool, const ABT_thread *threads, size_t num,
                                            ABT_pool_context pool_ctx);
/* Waits for one, at most time_secs seconds. May switch. */
ABT_API_PUBLIC int ABT_pool_pop_wait_thread(ABT_pool pool, ABT_thread *thread, double time_secs);
ABT_API_PUBLIC int ABT_pool_pop_wait_thread_ex(ABT_pool pool, ABT_thread *thread, double time_secs,
                                               ABT_pool_context pool_ctx);
/* Calls print_fn(arg, work unit) for each in the pool, which it must leave alone. */
ABT_API_PUBLIC int ABT_pool_print_all_threads(ABT_pool pool, void *arg, void (*print_fn)(void *arg, ABT_thread));
/* A pointer of the program's. */
ABT_API_PUBLIC int ABT_pool_set_data(ABT_pool pool, void *data);
ABT_API_PUBLIC int ABT_pool_get_data(ABT_pool pool, void **data);
/* Puts a new ULT that runs the scheduler into the pool; it ends when the scheduler's pools are empty.
 * ABT_ERR_INV_SCHED: it is in use. */
ABT_API_PUBLIC int ABT_pool_add_sched(ABT_pool pool, ABT_sched sched);
ABT_API_PUBLIC int ABT_pool_get_id(ABT_pool pool, int *id);
/* As pop_thread, by units, as below. */
ABT_API_PUBLIC int ABT_pool_pop(ABT_pool pool, ABT_unit *unit);
ABT_API_PUBLIC int ABT_pool_pop_wait(ABT_pool pool, ABT_unit *unit, double time_secs);
/* Until abstime_secs of ABT_get_wtime. */
ABT_API_PUBLIC int ABT_pool_pop_timedwait(ABT_pool pool, ABT_unit *unit, double abstime_secs);
/* Takes this one out; ABT_ERR_POOL: it is not there, or the pool has no such function. */
ABT_API_PUBLIC int ABT_pool_remove(ABT_pool pool, ABT_unit unit);
ABT_API_PUBLIC int ABT_pool_push(ABT_pool pool, ABT_unit unit);
ABT_API_PUBLIC int ABT_pool_print_all(ABT_pool pool, void *arg, void (*print_fn)(void *arg, ABT_unit));

/* ---- Configurations of pools: values by key, of a type. Where: any. */

extern ABT_API_PUBLIC const ABT_pool_config_var
    ABT_pool_config_automatic; /* is the pool freed with its last scheduler? */
ABT_API_PUBLIC int ABT_pool_config_create(ABT_pool_config *config);
ABT_API_PUBLIC int ABT_pool_config_free(ABT_pool_config *config);
/* ABT_ERR_INV_ARG: no such type. val null: removes it. */
ABT_API_PUBLIC int ABT_pool_config_set(ABT_pool_config config, int key, ABT_pool_config_type type, const void *val);
/* ABT_ERR_INV_ARG: there is none. */
ABT_API_PUBLIC int ABT_pool_config_get(ABT_pool_config config, int key, ABT_pool_config_type *p_type, void *val);

/* ---- Definitions of a program's own pools. Where: any. */

/* The functions that a pool must have; ABT_ERR_INV_ARG: one is null. */
ABT_API_PUBLIC int ABT_pool_user_def_create(ABT_pool_user_create_unit_fn p_create_unit,
                                            ABT_pool_user_free_unit_fn p_free_unit,
                                            ABT_pool_user_is_empty_fn p_is_empty, ABT_pool_user_pop_fn p_pop,
                                            ABT_pool_user_push_fn p_push, ABT_pool_user_def *newdef);
/* Pools made after it stay. */
ABT_API_PUBLIC int ABT_pool_user_def_free(ABT_pool_user_def *def);
/* Those that it may have; null: it has none. */
ABT_API_PUBLIC int ABT_pool_user_def_set_init(ABT_pool_user_def def, ABT_pool_user_init_fn p_init);
ABT_API_PUBLIC int ABT_pool_user_def_set_free(ABT_pool_user_def def, ABT_pool_user_free_fn p_free);
ABT_API_PUBLIC int ABT_pool_user_def_set_get_size(ABT_pool_user_def def, ABT_pool_user_get_size_fn p_get_size);
ABT_API_PUBLIC int ABT_pool_user_def_set_pop_wait(ABT_pool_user_def def, ABT_pool_user_pop_wait_fn p_pop_wait);
ABT_API_PUBLIC int ABT_pool_user_def_set_pop_many(ABT_pool_user_def def, ABT_pool_user_pop_many_fn p_pop_many);
ABT_API_PUBLIC int ABT_pool_user_def_set_push_many(ABT_pool_user_def def, ABT_pool_user_push_many_fn p_push_many);
ABT_API_PUBLIC int ABT_pool_user_def_set_print_all(ABT_pool_user_def def, ABT_pool_user_print_all_fn p_print_all);

/* ---- Units: what pools know work units by. Where: any. ABT_ERR_INV_UNIT: there is no such unit. */

ABT_API_PUBLIC int ABT_unit_get_thread(ABT_unit unit, ABT_thread *thread);
/* Does nothing: pushing says where a unit belongs. */
ABT_API_PUBLIC int ABT_unit_set_associated_pool(ABT_unit unit, ABT_pool pool);

/* ---- ULTs, and what holds of tasklets too. Where: any, unless it says otherwise. Make and end: */

/* A ULT that will call thread_func(arg), put into the pool. newthread null: nobody will join it, it is freed when it
 * ends. ABT_ERR_UNIT: the pool cannot make a unit for it. */
ABT_API_PUBLIC int ABT_thread_create(ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread_attr attr,
                                     ABT_thread *newthread);
/* The same, but it runs at once in the caller's place, who is put into his pool. Where: ULT. Switches. */
ABT_API_PUBLIC int ABT_thread_create_to(ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread_attr attr,
                                        ABT_thread *newthread);
/* In the first pool of the stream's main scheduler. */
ABT_API_PUBLIC int ABT_thread_create_on_xstream(ABT_xstream xstream, void (*thread_func)(void *), void *arg,
                                                ABT_thread_attr attr, ABT_thread *newthread);
/* num_threads of them; ABT_ERR_INV_THREAD_ATTR: they would share a stack. */
ABT_API_PUBLIC int ABT_thread_create_many(int num_threads, ABT_pool *pool_list, void (**thread_func_list)(void *),
                                          void **arg_list, ABT_thread_attr attr, ABT_thread *newthread_list);
/* What has ended (else ABT_ERR_INV_THREAD) begins anew, with another function. Its handle stays. */
ABT_API_PUBLIC int ABT_thread_revive(ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread);
/* The same, as thread_create_to. Where: ULT. Switches. */
ABT_API_PUBLIC int ABT_thread_revive_to(ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread);
/* Joins it and frees it. ABT_ERR_INV_THREAD: the caller, the main ULT, a main scheduler. May switch. */
ABT_API_PUBLIC int ABT_thread_free(ABT_thread *thread);
/* Up to the first error. */
ABT_API_PUBLIC int ABT_thread_free_many(int num_threads, ABT_thread *thread_list);
/* Returns when it has ended; at once if it has ended before. The same errors. May switch. */
ABT_API_PUBLIC int ABT_thread_join(ABT_thread thread);
ABT_API_PUBLIC int ABT_thread_join_many(int num_threads, ABT_thread *thread_list);
/* Ends the calling ULT, not the main one (ABT_ERR_INV_THREAD); nothing on its stack is unwound. Where: ULT. Switches.
 */
ABT_API_PUBLIC int ABT_thread_exit(void);
/* It ends when it is taken up the next time; nothing on its stack is unwound. Not the main ULT. */
ABT_API_PUBLIC int ABT_thread_cancel(ABT_thread thread);

/* ---- What it is: */

/* The caller, a ULT. Where: ULT. */
ABT_API_PUBLIC int ABT_thread_self(ABT_thread *thread);
/* Its number, given when somebody first asks, from 1. */
ABT_API_PUBLIC int ABT_thread_self_id(ABT_unit_id *id);
ABT_API_PUBLIC int ABT_thread_get_last_xstream(ABT_thread thread, ABT_xstream *xstream);
ABT_API_PUBLIC int ABT_thread_get_state(ABT_thread thread, ABT_thread_state *state);
ABT_API_PUBLIC int ABT_thread_get_last_pool(ABT_thread thread, ABT_pool *pool);
/* -1: none. */
ABT_API_PUBLIC int ABT_thread_get_last_pool_id(ABT_thread thread, int *id);
ABT_API_PUBLIC int ABT_thread_get_unit(ABT_thread thread, ABT_unit *unit);
/* While it is in no pool. ABT_ERR_UNIT: the pool cannot make a unit for it. */
ABT_API_PUBLIC int ABT_thread_set_associated_pool(ABT_thread thread, ABT_pool pool);

/* ---- Stop and go on: */

/* Runs the ULT, which is in its pool, in the caller's place, who is put into his pool. If it is not there, as
 * thread_yield. ABT_ERR_POOL: nothing can be taken out of its pool. Where: ULT. Switches. */
ABT_API_PUBLIC int ABT_thread_yield_to(ABT_thread thread);
/* The caller goes back into its pool, and its stream goes on with the next. Does nothing where there is no ULT. May
 * switch. */
ABT_API_PUBLIC int ABT_thread_yield(void);
/* Puts a ULT that has suspended itself into its pool; ABT_ERR_THREAD: it has not. */
ABT_API_PUBLIC int ABT_thread_resume(ABT_thread thread);

/* ---- Migrate. It happens when the work unit is taken up the next time. ABT_ERR_INV_THREAD: it may not migrate;
 * ABT_ERR_MIGRATION_TARGET: it is there. */

ABT_API_PUBLIC int ABT_thread_migrate_to_xstream(ABT_thread thread, ABT_xstream xstream);
ABT_API_PUBLIC int ABT_thread_migrate_to_sched(ABT_thread thread, ABT_sched sched);
ABT_API_PUBLIC int ABT_thread_migrate_to_pool(ABT_thread thread, ABT_pool pool);
/* To any other stream that runs; ABT_ERR_MIGRATION_NA: there is none. */
ABT_API_PUBLIC int ABT_thread_migrate(ABT_thread thread);
/* Called with each migration, by whoever makes it. */
ABT_API_PUBLIC int ABT_thread_set_callback(ABT_thread thread, void (*cb_func)(ABT_thread thread, void *cb_arg),
                                           void *cb_arg);
/* Without effect on the main ULT and main schedulers, which never are. */
ABT_API_PUBLIC int ABT_thread_set_migratable(ABT_thread thread, ABT_bool migratable);
ABT_API_PUBLIC int ABT_thread_is_migratable(ABT_thread thread, ABT_bool *is_migratable);

/* ---- Particulars: */

/* Is it the main ULT? */
ABT_API_PUBLIC int ABT_thread_is_primary(ABT_thread thread, ABT_bool *is_primary);
ABT_API_PUBLIC int ABT_thread_is_unnamed(ABT_thread thread, ABT_bool *is_unnamed);
ABT_API_PUBLIC int ABT_thread_equal(ABT_thread thread1, ABT_thread thread2, ABT_bool *result);
/* In bytes; 0: it has no stack of ours. */
ABT_API_PUBLIC int ABT_thread_get_stacksize(ABT_thread thread, size_t *stacksize);
/* Where its stack lies, as far as it has one now. Either pointer may be null. */
ABT_API_PUBLIC int ABT_thread_get_stack(ABT_thread thread, void **stackaddr, size_t *stacksize);
ABT_API_PUBLIC int ABT_thread_get_id(ABT_thread thread, ABT_unit_id *thread_id);
/* What its function gets. */
ABT_API_PUBLIC int ABT_thread_set_arg(ABT_thread thread, void *arg);
ABT_API_PUBLIC int ABT_thread_get_arg(ABT_thread thread, void **arg);
ABT_API_PUBLIC int ABT_thread_get_thread_func(ABT_thread thread, void (**thread_func)(void *));
/* Values by key; null before it was set. */
ABT_API_PUBLIC int ABT_thread_set_specific(ABT_thread thread, ABT_key key, void *value);
ABT_API_PUBLIC int ABT_thread_get_specific(ABT_thread thread, ABT_key key, void **value);
/* A copy, to be freed; a ULT that is made with it gets a stack of its own. ABT_ERR_INV_THREAD: a tasklet. */
ABT_API_PUBLIC int ABT_thread_get_attr(ABT_thread thread, ABT_thread_attr *attr);

/* ---- Attributes of ULTs to be made. Where: any. */

ABT_API_PUBLIC int ABT_thread_attr_create(ABT_thread_attr *newattr);
ABT_API_PUBLIC int ABT_thread_attr_free(ABT_thread_attr *attr);
/* The program's own memory, 8-byte aligned (ABT_ERR_INV_ARG), without a guard; null: ours, of this size. */
ABT_API_PUBLIC int ABT_thread_attr_set_stack(ABT_thread_attr attr, void *stackaddr, size_t stacksize);
ABT_API_PUBLIC int ABT_thread_attr_get_stack(ABT_thread_attr attr, void **stackaddr, size_t *stacksize);
/* In bytes; rounded up to what there is. */
ABT_API_PUBLIC int ABT_thread_attr_set_stacksize(ABT_thread_attr attr, size_t stacksize);
ABT_API_PUBLIC int ABT_thread_attr_get_stacksize(ABT_thread_attr attr, size_t *stacksize);
/* As thread_set_callback. */
ABT_API_PUBLIC int ABT_thread_attr_set_callback(ABT_thread_attr attr, void (*cb_func)(ABT_thread thread, void *cb_arg),
                                                void *cb_arg);
ABT_API_PUBLIC int ABT_thread_attr_set_migratable(ABT_thread_attr attr, ABT_bool is_migratable);

/* ---- Tasklets: they run on their scheduler's stack. Where: any. As those of ULTs, with ABT_ERR_INV_TASK for
 * ABT_ERR_INV_THREAD. */

ABT_API_PUBLIC int ABT_task_create(ABT_pool pool, void (*task_func)(void *), void *arg, ABT_task *newtask);
ABT_API_PUBLIC int ABT_task_create_on_xstream(ABT_xstream xstream, void (*task_func)(void *), void *arg,
                                              ABT_task *newtask);
ABT_API_PUBLIC int ABT_task_revive(ABT_pool pool, void (*task_func)(void *), void *arg, ABT_task *task);
/* May switch. */
ABT_API_PUBLIC int ABT_task_free(ABT_task *task);
/* May switch. */
ABT_API_PUBLIC int ABT_task_join(ABT_task task);
ABT_API_PUBLIC int ABT_task_cancel(ABT_task task);
/* The calling tasklet; ABT_ERR_INV_TASK: a ULT. Where: unit. */
ABT_API_PUBLIC int ABT_task_self(ABT_task *task);
ABT_API_PUBLIC int ABT_task_self_id(uint64_t *id);
ABT_API_PUBLIC int ABT_task_get_xstream(ABT_task task, ABT_xstream *xstream);
ABT_API_PUBLIC int ABT_task_get_state(ABT_task task, ABT_task_state *state);
ABT_API_PUBLIC int ABT_task_get_last_pool(ABT_task task, ABT_pool *pool);
ABT_API_PUBLIC int ABT_task_get_last_pool_id(ABT_task task, int *id);
ABT_API_PUBLIC int ABT_task_set_migratable(ABT_task task, ABT_bool flag);
ABT_API_PUBLIC int ABT_task_is_migratable(ABT_task task, ABT_bool *flag);
ABT_API_PUBLIC int ABT_task_equal(ABT_task task1, ABT_task task2, ABT_bool *result);
ABT_API_PUBLIC int ABT_task_get_id(ABT_task task, uint64_t *task_id);
ABT_API_PUBLIC int ABT_task_get_arg(ABT_task task, void **arg);
#define ABT_task_is_unnamed ABT_thread_is_unnamed
#define ABT_task_set_specific ABT_thread_set_specific
#define ABT_task_get_specific ABT_thread_get_specific

/* ---- The calling work unit. Where: unit. */

ABT_API_PUBLIC int ABT_self_get_xstream(ABT_xstream *xstream);
ABT_API_PUBLIC int ABT_self_get_xstream_rank(int *rank);
ABT_API_PUBLIC int ABT_self_get_thread(ABT_thread *thread);
ABT_API_PUBLIC int ABT_self_get_thread_id(ABT_unit_id *id);
ABT_API_PUBLIC int ABT_self_set_specific(ABT_key key, void *value);
ABT_API_PUBLIC int ABT_self_get_specific(ABT_key key, void **value);
#define ABT_self_get_task ABT_self_get_thread
#define ABT_self_get_task_id ABT_self_get_thread_id
/* ABT_UNIT_TYPE_EXT, with an error, where there is none. */
ABT_API_PUBLIC int ABT_self_get_type(ABT_unit_type *type);
/* ABT_ERR_INV_THREAD: a tasklet. */
ABT_API_PUBLIC int ABT_self_is_primary(ABT_bool *is_primary);
ABT_API_PUBLIC int ABT_self_on_primary_xstream(ABT_bool *on_primary);
ABT_API_PUBLIC int ABT_self_is_unnamed(ABT_bool *is_unnamed);
ABT_API_PUBLIC int ABT_self_get_last_pool(ABT_pool *pool);
ABT_API_PUBLIC int ABT_self_get_last_pool_id(int *pool_id);
/* Where it will be put when it yields. */
ABT_API_PUBLIC int ABT_self_set_associated_pool(ABT_pool pool);
ABT_API_PUBLIC int ABT_self_get_unit(ABT_unit *unit);
ABT_API_PUBLIC int ABT_self_set_arg(void *arg);
ABT_API_PUBLIC int ABT_self_get_arg(void **arg);
ABT_API_PUBLIC int ABT_self_get_thread_func(void (**thread_func)(void *));

/* ---- How it stops. Where: ULT. These switch. "_to": goes on with that ULT, which is in no pool, in the caller's
 * place, and not with the stream's scheduler; "resume_": which has suspended itself (else ABT_ERR_THREAD). */

/* The caller goes back into its pool. */
ABT_API_PUBLIC int ABT_self_yield(void);
ABT_API_PUBLIC int ABT_self_yield_to(ABT_thread thread);
ABT_API_PUBLIC int ABT_self_resume_yield_to(ABT_thread thread);
/* The caller stops until ABT_thread_resume. */
ABT_API_PUBLIC int ABT_self_suspend(void);
ABT_API_PUBLIC int ABT_self_suspend_to(ABT_thread thread);
ABT_API_PUBLIC int ABT_self_resume_suspend_to(ABT_thread thread);
/* The caller ends; not the main ULT. Nothing on its stack is unwound. */
ABT_API_PUBLIC int ABT_self_exit(void);
ABT_API_PUBLIC int ABT_self_exit_to(ABT_thread thread);
ABT_API_PUBLIC int ABT_self_resume_exit_to(ABT_thread thread);
/* Runs a work unit that is in no pool as a child of the caller, who may be a scheduler, after it was associated with
 * the pool (null: it stays where it belongs). Returns when it has ended or stopped. */
ABT_API_PUBLIC int ABT_self_schedule(ABT_thread thread, ABT_pool pool);

/* ---- Keys: a value for each work unit. Where: any. */

/* destructor(value) is called when a work unit with a value that is not null is freed, by whoever frees it. May be
 * null. */
ABT_API_PUBLIC int ABT_key_create(void (*destructor)(void *value), ABT_key *newkey);
/* Values stay, and are destructed. */
ABT_API_PUBLIC int ABT_key_free(ABT_key *key);
/* As self_set_specific. Where: unit. */
ABT_API_PUBLIC int ABT_key_set(ABT_key key, void *value);
ABT_API_PUBLIC int ABT_key_get(ABT_key key, void **value);

/* ---- Mutexes: whoever comes while one is free gets it, others wait in order. Where: any. */

ABT_API_PUBLIC int ABT_mutex_create(ABT_mutex *newmutex);
ABT_API_PUBLIC int ABT_mutex_create_with_attr(ABT_mutex_attr attr, ABT_mutex *newmutex);
/* ABT_ERR_MUTEX_LOCKED: it is locked. */
ABT_API_PUBLIC int ABT_mutex_free(ABT_mutex *mutex);
/* All the same. May switch. */
ABT_API_PUBLIC int ABT_mutex_lock(ABT_mutex mutex);
ABT_API_PUBLIC int ABT_mutex_lock_low(ABT_mutex mutex);
ABT_API_PUBLIC int ABT_mutex_lock_high(ABT_mutex mutex);
/* ABT_ERR_MUTEX_LOCKED: somebody has it. */
ABT_API_PUBLIC int ABT_mutex_trylock(ABT_mutex mutex);
/* Looks again and again at first. The stream lets others have its hart now and then, and in the end a ULT waits as
 * above, so it may switch all the same. */
ABT_API_PUBLIC int ABT_mutex_spinlock(ABT_mutex mutex);
/* All the same. ABT_ERR_MUTEX: it is not locked, or is recursive and somebody else's. */
ABT_API_PUBLIC int ABT_mutex_unlock(ABT_mutex mutex);
ABT_API_PUBLIC int ABT_mutex_unlock_se(ABT_mutex mutex);
ABT_API_PUBLIC int ABT_mutex_unlock_de(ABT_mutex mutex);
ABT_API_PUBLIC int ABT_mutex_equal(ABT_mutex mutex1, ABT_mutex mutex2, ABT_bool *result);
/* A copy, to be freed. */
ABT_API_PUBLIC int ABT_mutex_get_attr(ABT_mutex mutex, ABT_mutex_attr *attr);
ABT_API_PUBLIC int ABT_mutex_attr_create(ABT_mutex_attr *newattr);
ABT_API_PUBLIC int ABT_mutex_attr_free(ABT_mutex_attr *attr);
/* May its owner lock it again? */
ABT_API_PUBLIC int ABT_mutex_attr_set_recursive(ABT_mutex_attr attr, ABT_bool recursive);
ABT_API_PUBLIC int ABT_mutex_attr_get_recursive(ABT_mutex_attr attr, ABT_bool *recursive);

/* ---- Condition variables: nobody wakes without a signal. Where: any, but no tasklets wait (ABT_ERR_COND) without a
 * time limit. */

ABT_API_PUBLIC int ABT_cond_create(ABT_cond *newcond);
/* ABT_ERR_COND: somebody waits. */
ABT_API_PUBLIC int ABT_cond_free(ABT_cond *cond);
/* Unlocks the mutex, waits, locks it again. ABT_ERR_INV_MUTEX: others wait with another mutex. May switch. */
ABT_API_PUBLIC int ABT_cond_wait(ABT_cond cond, ABT_mutex mutex);
/* At most until abstime of CLOCK_REALTIME: then ABT_ERR_COND_TIMEDOUT, with the mutex locked. May switch. */
ABT_API_PUBLIC int ABT_cond_timedwait(ABT_cond cond, ABT_mutex mutex, const struct timespec *abstime);
/* Wakes the one who has waited longest, if anybody does. */
ABT_API_PUBLIC int ABT_cond_signal(ABT_cond cond);
ABT_API_PUBLIC int ABT_cond_broadcast(ABT_cond cond);

/* ---- Readers-writer locks: readers come in while no writer is inside; whoever leaves last lets in those who wait, in
 * order. Where: any but tasklets (ABT_ERR_RWLOCK). */

ABT_API_PUBLIC int ABT_rwlock_create(ABT_rwlock *newrwlock);
/* ABT_ERR_RWLOCK: it is locked. */
ABT_API_PUBLIC int ABT_rwlock_free(ABT_rwlock *rwlock);
/* May switch. */
ABT_API_PUBLIC int ABT_rwlock_rdlock(ABT_rwlock rwlock);
/* May switch. */
ABT_API_PUBLIC int ABT_rwlock_wrlock(ABT_rwlock rwlock);
/* ABT_ERR_RWLOCK: it is not locked. */
ABT_API_PUBLIC int ABT_rwlock_unlock(ABT_rwlock rwlock);

/* ---- Eventuals: a value that is set once, until it is reset. Where: any, but tasklets do not wait (ABT_ERR_EVENTUAL).
 */

/* With a buffer of nbytes >= 0 (ABT_ERR_INV_ARG). */
ABT_API_PUBLIC int ABT_eventual_create(int nbytes, ABT_eventual *neweventual);
ABT_API_PUBLIC int ABT_eventual_free(ABT_eventual *eventual);
/* Returns when it is set, and where its buffer is (value may be null). May switch. */
ABT_API_PUBLIC int ABT_eventual_wait(ABT_eventual eventual, void **value);
/* At most until abstime of CLOCK_REALTIME: then ABT_ERR_COND_TIMEDOUT. May switch. */
ABT_API_PUBLIC int ABT_eventual_timedwait(ABT_eventual eventual, void **value, const struct timespec *abstime);
ABT_API_PUBLIC int ABT_eventual_test(ABT_eventual eventual, void **value, ABT_bool *is_ready);
/* Copies nbytes into the buffer and wakes all. ABT_ERR_EVENTUAL: it is set; ABT_ERR_INV_EVENTUAL: the buffer is
 * smaller. */
ABT_API_PUBLIC int ABT_eventual_set(ABT_eventual eventual, void *value, int nbytes);
ABT_API_PUBLIC int ABT_eventual_reset(ABT_eventual eventual);

/* ---- Futures: so many values, set one after the other. Where: any, but tasklets do not wait (ABT_ERR_FUTURE). */

/* cb_func(values), if not null, is called by whoever sets the last one, before those who wait wake. No compartments: it
 * is set. */
ABT_API_PUBLIC int ABT_future_create(uint32_t num_compartments, void (*cb_func)(void **arg), ABT_future *newfuture);
ABT_API_PUBLIC int ABT_future_free(ABT_future *future);
/* May switch. */
ABT_API_PUBLIC int ABT_future_wait(ABT_future future);
ABT_API_PUBLIC int ABT_future_test(ABT_future future, ABT_bool *is_ready);
/* ABT_ERR_FUTURE: all are set. */
ABT_API_PUBLIC int ABT_future_set(ABT_future future, void *value);
ABT_API_PUBLIC int ABT_future_reset(ABT_future future);

/* ---- Barriers. Where: any but tasklets (ABT_ERR_BARRIER). */

/* For num_waiters > 0 (ABT_ERR_INV_ARG). */
ABT_API_PUBLIC int ABT_barrier_create(uint32_t num_waiters, ABT_barrier *newbarrier);
/* For another number; ABT_ERR_BARRIER: somebody waits. */
ABT_API_PUBLIC int ABT_barrier_reinit(ABT_barrier barrier, uint32_t num_waiters);
ABT_API_PUBLIC int ABT_barrier_free(ABT_barrier *barrier);
/* Returns when all have come. May switch. */
ABT_API_PUBLIC int ABT_barrier_wait(ABT_barrier barrier);
ABT_API_PUBLIC int ABT_barrier_get_num_waiters(ABT_barrier barrier, uint32_t *num_waiters);

/* ---- Errors. Where: any, also in a signal handler. */

/* The name of an error, "ABT_ERR_MEM", and its length; either pointer may be null. ABT_ERR_OTHER: no such error. */
ABT_API_PUBLIC int ABT_error_get_str(int err, char *str, size_t *len);

/* ---- Stop watches; in seconds. Where: any, also outside ABT_init … ABT_finalize. */

/* A time that runs evenly. */
ABT_API_PUBLIC double ABT_get_wtime(void);
ABT_API_PUBLIC int ABT_timer_create(ABT_timer *newtimer);
ABT_API_PUBLIC int ABT_timer_dup(ABT_timer timer, ABT_timer *newtimer);
ABT_API_PUBLIC int ABT_timer_free(ABT_timer *timer);
ABT_API_PUBLIC int ABT_timer_start(ABT_timer timer);
ABT_API_PUBLIC int ABT_timer_stop(ABT_timer timer);
/* Between the last start and the last stop. */
ABT_API_PUBLIC int ABT_timer_read(ABT_timer timer, double *secs);
ABT_API_PUBLIC int ABT_timer_stop_and_read(ABT_timer timer, double *secs);
ABT_API_PUBLIC int ABT_timer_stop_and_add(ABT_timer timer, double *secs);
/* What a start and a stop take. */
ABT_API_PUBLIC int ABT_timer_get_overhead(double *overhead);

/* ---- Information. Where: any. What is printed is for people, and may change. */

/* ABT_ERR_INV_QUERY_KIND. The types of the answers stand at ABT_info_query_kind. */
ABT_API_PUBLIC int ABT_info_query_config(ABT_info_query_kind query_kind, void *val);
ABT_API_PUBLIC int ABT_info_print_config(FILE *fp);
ABT_API_PUBLIC int ABT_info_print_all_xstreams(FILE *fp);
ABT_API_PUBLIC int ABT_info_print_xstream(FILE *fp, ABT_xstream xstream);
ABT_API_PUBLIC int ABT_info_print_sched(FILE *fp, ABT_sched sched);
ABT_API_PUBLIC int ABT_info_print_pool(FILE *fp, ABT_pool pool);
ABT_API_PUBLIC int ABT_info_print_thread(FILE *fp, ABT_thread thread);
ABT_API_PUBLIC int ABT_info_print_thread_attr(FILE *fp, ABT_thread_attr attr);
ABT_API_PUBLIC int ABT_info_print_task(FILE *fp, ABT_task task);
/* The words on the stack of a work unit that does not run. */
ABT_API_PUBLIC int ABT_info_print_thread_stack(FILE *fp, ABT_thread thread);
/* ABT_ERR_POOL: the pool cannot tell. */
ABT_API_PUBLIC int ABT_info_print_thread_stacks_in_pool(FILE *fp, ABT_pool pool);
/* Soon: when all streams have stopped at ABT_xstream_check_events, or timeout seconds (negative: never) after the first
 * has; then cb_func(did the time pass, arg). Also in a signal handler. */
ABT_API_PUBLIC int ABT_info_trigger_print_all_thread_stacks(FILE *fp, double timeout, void (*cb_func)(ABT_bool, void *),
                                                            void *arg);

/* ---- Tools: as in an Argobots that was built without them, ABT_ERR_FEATURE_NA. */

ABT_API_PUBLIC int ABT_tool_register_thread_callback(ABT_tool_thread_callback_fn cb_func, uint64_t event_mask,
                                                     void *user_arg);
ABT_API_PUBLIC int ABT_tool_query_thread(ABT_tool_context context, uint64_t event, ABT_tool_query_kind query_kind,
                                         void *val);

#ifdef __cplusplus
}
#endif
#endif
