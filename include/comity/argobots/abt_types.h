/* Types, constants and callbacks of Argobots 1.2. Include abt.h. */
#ifndef COMITY_ABT_TYPES_H
#define COMITY_ABT_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

struct timespec; /* which strict C99 leaves to POSIX */

#if defined(__GNUC__)
#define ABT_API_PUBLIC __attribute__((visibility("default")))
#else
#define ABT_API_PUBLIC
#endif
#define ABT_DEPRECATED

/* ---- Version: MAJOR * 10^7 + MINOR * 10^5 + REVISION * 10^3 + TYPE * 100 + PATCH */
#define ABT_RELEASE_TYPE_ALPHA 0
#define ABT_RELEASE_TYPE_BETA 1
#define ABT_RELEASE_TYPE_RC 2
#define ABT_RELEASE_TYPE_PATCH 3
#define ABT_CALC_VERSION(MAJOR, MINOR, REVISION, TYPE, PATCH)                                                          \
    (((MAJOR)*10000000) + ((MINOR)*100000) + ((REVISION)*1000) + ((TYPE)*100) + (PATCH))
#define ABT_VERSION "1.2"
#define ABT_NUMVERSION 10200300
#define COMITY_ABT 1 /* this is Comity's */

/* ---- What functions return */
#define ABT_SUCCESS 0
#define ABT_ERR_UNINITIALIZED 1
#define ABT_ERR_MEM 2
#define ABT_ERR_OTHER 3
#define ABT_ERR_INV_XSTREAM 4
#define ABT_ERR_INV_XSTREAM_RANK 5
#define ABT_ERR_INV_XSTREAM_BARRIER 6
#define ABT_ERR_INV_SCHED 7
#define ABT_ERR_INV_SCHED_KIND 8
#define ABT_ERR_INV_SCHED_PREDEF 9
#define ABT_ERR_INV_SCHED_TYPE 10
#define ABT_ERR_INV_SCHED_CONFIG 11
#define ABT_ERR_INV_POOL 12
#define ABT_ERR_INV_POOL_KIND 13
#define ABT_ERR_INV_POOL_ACCESS 14
#define ABT_ERR_INV_UNIT 15
#define ABT_ERR_INV_THREAD 16
#define ABT_ERR_INV_THREAD_ATTR 17
#define ABT_ERR_INV_TASK 18
#define ABT_ERR_INV_KEY 19
#define ABT_ERR_INV_MUTEX 20
#define ABT_ERR_INV_MUTEX_ATTR 21
#define ABT_ERR_INV_COND 22
#define ABT_ERR_INV_RWLOCK 23
#define ABT_ERR_INV_EVENTUAL 24
#define ABT_ERR_INV_FUTURE 25
#define ABT_ERR_INV_BARRIER 26
#define ABT_ERR_INV_TIMER 27
#define ABT_ERR_INV_QUERY_KIND 28
#define ABT_ERR_XSTREAM 29
#define ABT_ERR_XSTREAM_STATE 30
#define ABT_ERR_XSTREAM_BARRIER 31
#define ABT_ERR_SCHED 32
#define ABT_ERR_SCHED_CONFIG 33
#define ABT_ERR_POOL 34
#define ABT_ERR_UNIT 35
#define ABT_ERR_THREAD 36
#define ABT_ERR_TASK 37
#define ABT_ERR_KEY 38
#define ABT_ERR_MUTEX 39
#define ABT_ERR_MUTEX_LOCKED 40
#define ABT_ERR_COND 41
#define ABT_ERR_COND_TIMEDOUT 42
#define ABT_ERR_RWLOCK 43
#define ABT_ERR_EVENTUAL 44
#define ABT_ERR_FUTURE 45
#define ABT_ERR_BARRIER 46
#define ABT_ERR_TIMER 47
#define ABT_ERR_MIGRATION_TARGET 48
#define ABT_ERR_MIGRATION_NA 49
#define ABT_ERR_MISSING_JOIN 50
#define ABT_ERR_FEATURE_NA 51
#define ABT_ERR_INV_TOOL_CONTEXT 52
#define ABT_ERR_INV_ARG 53
#define ABT_ERR_SYS 54
#define ABT_ERR_CPUID 55
#define ABT_ERR_INV_POOL_CONFIG 56
#define ABT_ERR_INV_POOL_USER_DEF 57

#define ABT_TRUE 1
#define ABT_FALSE 0
#define ABT_XSTREAM_ANY_RANK -1

/* A program may pass any number: C++ allows that only of enumerations that say what they are. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define ABT_ANY_NUMBER : int
#else
#define ABT_ANY_NUMBER
#endif

/* ---- States and kinds */
typedef enum ABT_xstream_state { ABT_XSTREAM_STATE_RUNNING, ABT_XSTREAM_STATE_TERMINATED } ABT_xstream_state;

typedef enum ABT_thread_state {
    ABT_THREAD_STATE_READY,
    ABT_THREAD_STATE_RUNNING,
    ABT_THREAD_STATE_BLOCKED,
    ABT_THREAD_STATE_TERMINATED
} ABT_thread_state;

typedef enum ABT_task_state { ABT_TASK_STATE_READY, ABT_TASK_STATE_RUNNING, ABT_TASK_STATE_TERMINATED } ABT_task_state;

typedef enum ABT_sched_state {
    ABT_SCHED_STATE_READY,
    ABT_SCHED_STATE_RUNNING,
    ABT_SCHED_STATE_STOPPED,
    ABT_SCHED_STATE_TERMINATED
} ABT_sched_state;

/* Schedulers that exist. BASIC: the pools in their order, the first again after each work unit; PRIO: the same, three
 * pools if none are given; RANDWS: the first pool, else one of the others by chance; BASIC_WAIT: BASIC, that waits in
 * its first pool. */
typedef enum ABT_sched_predef ABT_ANY_NUMBER {
    ABT_SCHED_DEFAULT,
    ABT_SCHED_BASIC,
    ABT_SCHED_PRIO,
    ABT_SCHED_RANDWS,
    ABT_SCHED_BASIC_WAIT
} ABT_sched_predef;

typedef enum ABT_sched_type ABT_ANY_NUMBER { ABT_SCHED_TYPE_ULT, ABT_SCHED_TYPE_TASK } ABT_sched_type;

/* Pools that exist. FIFO; FIFO_WAIT: the same; RANDWS: what is created goes to the head, what has run to the tail;
 * the owner takes from the head, others (ABT_POOL_CONTEXT_OWNER_SECONDARY) from the tail. */
typedef enum ABT_pool_kind ABT_ANY_NUMBER { ABT_POOL_FIFO, ABT_POOL_FIFO_WAIT, ABT_POOL_RANDWS } ABT_pool_kind;

/* By how many streams a pool is filled (P) and emptied (C): single or multiple. */
typedef enum ABT_pool_access ABT_ANY_NUMBER {
    ABT_POOL_ACCESS_PRIV,
    ABT_POOL_ACCESS_SPSC,
    ABT_POOL_ACCESS_MPSC,
    ABT_POOL_ACCESS_SPMC,
    ABT_POOL_ACCESS_MPMC
} ABT_pool_access;

typedef enum ABT_unit_type {
    ABT_UNIT_TYPE_THREAD,
    ABT_UNIT_TYPE_TASK,
    ABT_UNIT_TYPE_XSTREAM,
    ABT_UNIT_TYPE_EXT
} ABT_unit_type;

/* What ABT_info_query_config answers; the type of the answer stands behind each. */
typedef enum ABT_info_query_kind ABT_ANY_NUMBER {
    ABT_INFO_QUERY_KIND_ENABLED_DEBUG,                /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_PRINT_ERRNO,          /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_LOG,                  /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_VALGRIND,             /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_CHECK_ERROR,          /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_PRODUCER,  /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_CHECK_POOL_CONSUMER,  /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_PRESERVE_FPU,         /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_THREAD_CANCEL,        /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_TASK_CANCEL,          /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_MIGRATION,            /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_STACKABLE_SCHED,      /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_EXTERNAL_THREAD,      /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_SCHED_SLEEP,          /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_PRINT_CONFIG,         /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_AFFINITY,             /* ABT_bool */
    ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS,             /* unsigned int */
    ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE,     /* size_t */
    ABT_INFO_QUERY_KIND_DEFAULT_SCHED_STACKSIZE,      /* size_t */
    ABT_INFO_QUERY_KIND_DEFAULT_SCHED_EVENT_FREQ,     /* uint64_t */
    ABT_INFO_QUERY_KIND_DEFAULT_SCHED_SLEEP_NSEC,     /* uint64_t */
    ABT_INFO_QUERY_KIND_ENABLED_TOOL,                 /* ABT_bool */
    ABT_INFO_QUERY_KIND_FCONTEXT,                     /* ABT_bool */
    ABT_INFO_QUERY_KIND_DYNAMIC_PROMOTION,            /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_STACK_UNWIND,         /* ABT_bool */
    ABT_INFO_QUERY_KIND_ENABLED_STACK_OVERFLOW_CHECK, /* int */
    ABT_INFO_QUERY_KIND_WAIT_POLICY,                  /* int */
    ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC      /* ABT_bool */
} ABT_info_query_kind;

/* ---- What a tool may ask for; Comity has no such tools (ABT_ERR_FEATURE_NA) */
typedef enum ABT_tool_query_kind ABT_ANY_NUMBER {
    ABT_TOOL_QUERY_KIND_POOL,
    ABT_TOOL_QUERY_KIND_STACK_DEPTH,
    ABT_TOOL_QUERY_KIND_CALLER_TYPE,
    ABT_TOOL_QUERY_KIND_CALLER_HANDLE,
    ABT_TOOL_QUERY_KIND_SYNC_OBJECT_TYPE,
    ABT_TOOL_QUERY_KIND_SYNC_OBJECT_HANDLE
} ABT_tool_query_kind;

typedef enum ABT_exec_entity_type { ABT_EXEC_ENTITY_TYPE_EXT, ABT_EXEC_ENTITY_TYPE_THREAD } ABT_exec_entity_type;

typedef enum ABT_sync_event_type {
    ABT_SYNC_EVENT_TYPE_UNKNOWN = 0,
    ABT_SYNC_EVENT_TYPE_USER,
    ABT_SYNC_EVENT_TYPE_OTHER,
    ABT_SYNC_EVENT_TYPE_XSTREAM_JOIN,
    ABT_SYNC_EVENT_TYPE_THREAD_JOIN,
    ABT_SYNC_EVENT_TYPE_MUTEX,
    ABT_SYNC_EVENT_TYPE_COND,
    ABT_SYNC_EVENT_TYPE_RWLOCK,
    ABT_SYNC_EVENT_TYPE_EVENTUAL,
    ABT_SYNC_EVENT_TYPE_FUTURE,
    ABT_SYNC_EVENT_TYPE_BARRIER
} ABT_sync_event_type;

#define ABT_TOOL_EVENT_THREAD_NONE (0)
#define ABT_TOOL_EVENT_THREAD_CREATE (1 << 0)
#define ABT_TOOL_EVENT_THREAD_JOIN (1 << 1)
#define ABT_TOOL_EVENT_THREAD_FREE (1 << 2)
#define ABT_TOOL_EVENT_THREAD_REVIVE (1 << 3)
#define ABT_TOOL_EVENT_THREAD_RUN (1 << 4)
#define ABT_TOOL_EVENT_THREAD_FINISH (1 << 5)
#define ABT_TOOL_EVENT_THREAD_CANCEL (1 << 6)
#define ABT_TOOL_EVENT_THREAD_YIELD (1 << 7)
#define ABT_TOOL_EVENT_THREAD_SUSPEND (1 << 8)
#define ABT_TOOL_EVENT_THREAD_RESUME (1 << 9)
#define ABT_TOOL_EVENT_THREAD_ALL ((uint64_t)((1 << 12) - 1))

/* ---- Handles. Each NULL is what a freed handle becomes, and not valid. */
typedef struct ABT_xstream_opaque *ABT_xstream;
typedef struct ABT_xstream_barrier_opaque *ABT_xstream_barrier;
typedef struct ABT_sched_opaque *ABT_sched;
typedef struct ABT_sched_config_opaque *ABT_sched_config;
typedef struct ABT_pool_opaque *ABT_pool;
typedef struct ABT_pool_config_opaque *ABT_pool_config;
typedef struct ABT_pool_def *ABT_pool_user_def;
typedef struct ABT_unit_opaque *ABT_unit;
typedef uint64_t ABT_unit_id;
typedef struct ABT_thread_opaque *ABT_thread;
typedef struct ABT_thread_attr_opaque *ABT_thread_attr;
typedef ABT_unit_id ABT_thread_id;
typedef struct ABT_thread_opaque *ABT_task;
typedef struct ABT_key_opaque *ABT_key;
typedef struct ABT_mutex_opaque *ABT_mutex;
typedef struct ABT_mutex_attr_opaque *ABT_mutex_attr;
typedef struct ABT_cond_opaque *ABT_cond;
typedef struct ABT_rwlock_opaque *ABT_rwlock;
typedef struct ABT_eventual_opaque *ABT_eventual;
typedef struct ABT_future_opaque *ABT_future;
typedef struct ABT_barrier_opaque *ABT_barrier;
typedef struct ABT_timer_opaque *ABT_timer;
typedef int ABT_bool;
typedef struct ABT_tool_context_opaque *ABT_tool_context;

#define ABT_NULL 1 /* the invalid handles are null pointers */
#define ABT_XSTREAM_NULL ((ABT_xstream)NULL)
#define ABT_XSTREAM_BARRIER_NULL ((ABT_xstream_barrier)NULL)
#define ABT_SCHED_NULL ((ABT_sched)NULL)
#define ABT_SCHED_CONFIG_NULL ((ABT_sched_config)NULL)
#define ABT_POOL_NULL ((ABT_pool)NULL)
#define ABT_POOL_CONFIG_NULL ((ABT_pool_config)NULL)
#define ABT_POOL_USER_DEF_NULL ((ABT_pool_user_def)NULL)
#define ABT_UNIT_NULL ((ABT_unit)NULL)
#define ABT_THREAD_NULL ((ABT_thread)NULL)
#define ABT_THREAD_ATTR_NULL ((ABT_thread_attr)NULL)
#define ABT_TASK_NULL ((ABT_task)NULL)
#define ABT_KEY_NULL ((ABT_key)NULL)
#define ABT_MUTEX_NULL ((ABT_mutex)NULL)
#define ABT_MUTEX_ATTR_NULL ((ABT_mutex_attr)NULL)
#define ABT_COND_NULL ((ABT_cond)NULL)
#define ABT_RWLOCK_NULL ((ABT_rwlock)NULL)
#define ABT_EVENTUAL_NULL ((ABT_eventual)NULL)
#define ABT_FUTURE_NULL ((ABT_future)NULL)
#define ABT_BARRIER_NULL ((ABT_barrier)NULL)
#define ABT_TIMER_NULL ((ABT_timer)NULL)
#define ABT_TOOL_CONTEXT_NULL ((ABT_tool_context)NULL)

/* ---- Objects in the program's own memory; not freed */
typedef struct {
    int dummy[16];
} ABT_mutex_memory;
#define ABT_MUTEX_INITIALIZER                                                                                          \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }
#define ABT_RECURSIVE_MUTEX_INITIALIZER                                                                                \
    {                                                                                                                  \
        { 1 }                                                                                                          \
    }
#define ABT_MUTEX_MEMORY_GET_HANDLE(p_mutex_memory) ((ABT_mutex)p_mutex_memory)

typedef struct {
    int dummy[16];
} ABT_cond_memory;
#define ABT_COND_INITIALIZER                                                                                           \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }
#define ABT_COND_MEMORY_GET_HANDLE(p_cond_memory) ((ABT_cond)p_cond_memory)

typedef struct {
    int dummy[16];
} ABT_eventual_memory;
#define ABT_EVENTUAL_INITIALIZER                                                                                       \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }
#define ABT_EVENTUAL_MEMORY_GET_HANDLE(p_eventual_memory) ((ABT_eventual)p_eventual_memory)

/* ---- A scheduler of the program's own. init and free may be NULL; run loops until ABT_sched_has_to_stop says so, and
 * calls ABT_xstream_check_events now and then; get_migr_pool says where a work unit that migrates here goes (NULL: the
 * first pool). */
typedef enum ABT_ANY_NUMBER {
    ABT_SCHED_CONFIG_INT = 0,
    ABT_SCHED_CONFIG_DOUBLE = 1,
    ABT_SCHED_CONFIG_PTR = 2
} ABT_sched_config_type;

typedef struct {
    int idx;
    ABT_sched_config_type type;
} ABT_sched_config_var;

typedef int (*ABT_sched_init_fn)(ABT_sched, ABT_sched_config);
typedef void (*ABT_sched_run_fn)(ABT_sched);
typedef int (*ABT_sched_free_fn)(ABT_sched);
typedef ABT_pool (*ABT_sched_get_migr_pool_fn)(ABT_sched);

typedef struct {
    ABT_sched_type type; /* not used */
    ABT_sched_init_fn init;
    ABT_sched_run_fn run;
    ABT_sched_free_fn free;
    ABT_sched_get_migr_pool_fn get_migr_pool;
} ABT_sched_def;

/* ---- A pool of the program's own (ABT_pool_user_def_create). Its functions must not switch. */
typedef enum ABT_ANY_NUMBER {
    ABT_POOL_CONFIG_INT = 0,
    ABT_POOL_CONFIG_DOUBLE = 1,
    ABT_POOL_CONFIG_PTR = 2
} ABT_pool_config_type;

typedef struct {
    int key;
    ABT_pool_config_type type;
} ABT_pool_config_var;

/* From where a pool's functions are called: priority, owner and operation, or'ed. */
typedef uint64_t ABT_pool_context;
#define ABT_POOL_CONTEXT_PRIO_DEFAULT_PRIO ((ABT_pool_context)0x0)
#define ABT_POOL_CONTEXT_PRIO_HIGH_PRIO ((ABT_pool_context)0x1)
#define ABT_POOL_CONTEXT_PRIO_LOW_PRIO ((ABT_pool_context)0x2)
#define ABT_POOL_CONTEXT_OWNER_DEFAULT ((ABT_pool_context)0x0)
#define ABT_POOL_CONTEXT_OWNER_PRIMARY ((ABT_pool_context)0x100)
#define ABT_POOL_CONTEXT_OWNER_SECONDARY ((ABT_pool_context)0x200)
#define ABT_POOL_CONTEXT_OP_POOL_OTHER ((ABT_pool_context)0x0)
#define ABT_POOL_CONTEXT_OP_THREAD_CREATE ((ABT_pool_context)0x1000)
#define ABT_POOL_CONTEXT_OP_THREAD_CREATE_TO ((ABT_pool_context)0x2000)
#define ABT_POOL_CONTEXT_OP_THREAD_REVIVE ((ABT_pool_context)0x4000)
#define ABT_POOL_CONTEXT_OP_THREAD_REVIVE_TO ((ABT_pool_context)0x8000)
#define ABT_POOL_CONTEXT_OP_THREAD_YIELD ((ABT_pool_context)0x10000)
#define ABT_POOL_CONTEXT_OP_THREAD_YIELD_TO ((ABT_pool_context)0x20000)
#define ABT_POOL_CONTEXT_OP_THREAD_RESUME_YIELD_TO ((ABT_pool_context)0x40000)
#define ABT_POOL_CONTEXT_OP_THREAD_YIELD_LOOP ((ABT_pool_context)0x80000)
#define ABT_POOL_CONTEXT_OP_THREAD_RESUME ((ABT_pool_context)0x100000)
#define ABT_POOL_CONTEXT_OP_THREAD_MIGRATE ((ABT_pool_context)0x200000)

typedef ABT_unit (*ABT_pool_user_create_unit_fn)(ABT_pool, ABT_thread);
typedef void (*ABT_pool_user_free_unit_fn)(ABT_pool, ABT_unit);
typedef ABT_bool (*ABT_pool_user_is_empty_fn)(ABT_pool);
typedef ABT_thread (*ABT_pool_user_pop_fn)(ABT_pool, ABT_pool_context);
typedef void (*ABT_pool_user_push_fn)(ABT_pool, ABT_unit, ABT_pool_context);
typedef int (*ABT_pool_user_init_fn)(ABT_pool, ABT_pool_config);
typedef void (*ABT_pool_user_free_fn)(ABT_pool);
typedef size_t (*ABT_pool_user_get_size_fn)(ABT_pool);
typedef ABT_thread (*ABT_pool_user_pop_wait_fn)(ABT_pool, double, ABT_pool_context);
typedef void (*ABT_pool_user_pop_many_fn)(ABT_pool, ABT_thread *, size_t, size_t *, ABT_pool_context);
typedef void (*ABT_pool_user_push_many_fn)(ABT_pool, const ABT_unit *, size_t, ABT_pool_context);
typedef void (*ABT_pool_user_print_all_fn)(ABT_pool, void *arg, void (*)(void *, ABT_thread));

/* The older way to define a pool, by a structure of functions. */
typedef ABT_unit_type (*ABT_unit_get_type_fn)(ABT_unit);
typedef ABT_thread (*ABT_unit_get_thread_fn)(ABT_unit);
typedef ABT_task (*ABT_unit_get_task_fn)(ABT_unit);
typedef ABT_bool (*ABT_unit_is_in_pool_fn)(ABT_unit);
typedef ABT_unit (*ABT_unit_create_from_thread_fn)(ABT_thread);
typedef ABT_unit (*ABT_unit_create_from_task_fn)(ABT_task);
typedef void (*ABT_unit_free_fn)(ABT_unit *);
typedef int (*ABT_pool_init_fn)(ABT_pool, ABT_pool_config);
typedef size_t (*ABT_pool_get_size_fn)(ABT_pool);
typedef void (*ABT_pool_push_fn)(ABT_pool, ABT_unit);
typedef ABT_unit (*ABT_pool_pop_fn)(ABT_pool);
typedef ABT_unit (*ABT_pool_pop_wait_fn)(ABT_pool, double);
typedef ABT_unit (*ABT_pool_pop_timedwait_fn)(ABT_pool, double);
typedef int (*ABT_pool_remove_fn)(ABT_pool, ABT_unit);
typedef int (*ABT_pool_free_fn)(ABT_pool);
typedef int (*ABT_pool_print_all_fn)(ABT_pool, void *arg, void (*)(void *, ABT_unit));

typedef struct ABT_pool_def {
    ABT_pool_access access;
    ABT_unit_get_type_fn u_get_type; /* not used, as the next two */
    ABT_unit_get_thread_fn u_get_thread;
    ABT_unit_get_task_fn u_get_task;
    ABT_unit_is_in_pool_fn u_is_in_pool;
    ABT_unit_create_from_thread_fn u_create_from_thread;
    ABT_unit_create_from_task_fn u_create_from_task; /* not used */
    ABT_unit_free_fn u_free;
    ABT_pool_init_fn p_init; /* may be NULL */
    ABT_pool_get_size_fn p_get_size;
    ABT_pool_push_fn p_push;
    ABT_pool_pop_fn p_pop;
#ifdef ABT_ENABLE_VER_20_API
    ABT_pool_pop_wait_fn p_pop_wait;
#endif
    ABT_pool_pop_timedwait_fn p_pop_timedwait; /* may be NULL, as all below */
    ABT_pool_remove_fn p_remove;
    ABT_pool_free_fn p_free;
    ABT_pool_print_all_fn p_print_all;
} ABT_pool_def;

typedef void (*ABT_tool_thread_callback_fn)(ABT_thread, ABT_xstream, uint64_t event, ABT_tool_context context,
                                            void *user_arg);
typedef void (*ABT_tool_task_callback_fn)(ABT_task, ABT_xstream, uint64_t event, ABT_tool_context context,
                                          void *user_arg);

#endif
