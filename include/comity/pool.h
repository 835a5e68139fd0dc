/* Pools: where units wait until somebody runs them.
 *
 * A unit is anything that can be run next: a Comity thread, or a user's own piece of work. A pool says who may use it
 * at the same time (its access), and which unit comes next (its order). Pools take as many units as there is memory
 * for, and are lock-free but for the random ones that several may use; docs/pools.md says what each costs. After
 * Iwasaki (2019), sections 2.3 and 3.1.
 *
 * None of these functions switches. They may be called by any thread, on a hart or not, also in a scheduler callback,
 * but not in a signal handler. A function that is a *producer's* or a *consumer's* may be called by one at a time where
 * the access allows only one; in a private pool both are the same one. Each call returns 0 or an error number:
 *   EBUSY  somebody else is at this side of the pool at this moment, which its access forbids. Nothing has happened.
 *          Two who come in the same few processor cycles may not be noticed, and then the pool is broken, as any data
 *          that two write at the same time: units are lost or come twice, or a call does not return, or crashes.
 *   EPERM  the side belongs to another hart or context (comity_pool_own). */
#ifndef COMITY_POOL_H
#define COMITY_POOL_H

#include "comity/core.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Units */

typedef struct comity_unit comity_unit_t;

/* Where a user's own unit lies, mostly within a structure of the user's. */
typedef struct comity_unit_storage {
    COMITY_ALIGN(16) unsigned char opaque_[64];
} comity_unit_storage_t;

/* A unit that calls fn(arg) when it is run, to its end: fn may neither block nor yield. It may be run again and again.
 * fn may put it into a pool again, or free it. The storage must stay where it is while the unit is in a pool; in at
 * most one at a time. */
COMITY_API comity_unit_t *comity_unit_init(comity_unit_storage_t *storage, void (*fn)(void *arg), void *arg);

/* Runs a unit that comity_unit_init made, in the caller. EINVAL: it is another kind of unit, which its scheduler runs.
 */
COMITY_API int comity_unit_run(comity_unit_t *unit);

/* 0 … 255, the higher, the sooner; at first 0. Only while the unit is in no pool. */
COMITY_API void comity_unit_set_priority(comity_unit_t *unit, unsigned char priority);
COMITY_API unsigned char comity_unit_priority(const comity_unit_t *unit);

/* ---- Pools */

typedef struct comity_pool comity_pool_t;

/* How many may push and how many may pop at the same time. */
typedef enum comity_pool_access {
    COMITY_POOL_PRIVATE = 0, /* one in all */
    COMITY_POOL_SPSC = 1,    /* one pushes, one other pops */
    COMITY_POOL_SPMC = 2,    /* one pushes, any number pop */
    COMITY_POOL_MPSC = 3,    /* any number push, one pops */
    COMITY_POOL_MPMC = 4     /* any number push and pop */
} comity_pool_access_t;

/* Which unit the next pop returns. */
typedef enum comity_pool_order {
    COMITY_POOL_FIFO = 0,     /* the oldest */
    COMITY_POOL_LIFO = 1,     /* the newest */
    COMITY_POOL_PRIORITY = 2, /* the oldest of the highest priority; 256 of them */
    COMITY_POOL_RANDOM = 3,   /* any, each as likely as the others; the same seed and calls give the same order */
    COMITY_POOL_USER = 4      /* as the user's functions say (comity_pool_create_user) */
} comity_pool_order_t;

/* Makes an empty pool. EINVAL: no such access or order; ENOMEM. */
COMITY_API int comity_pool_create(comity_pool_t **pool, comity_pool_access_t access, comity_pool_order_t order);

/* The seed of a random pool, at first 1; while nobody else uses it. EINVAL: it is not random. */
COMITY_API int comity_pool_set_seed(comity_pool_t *pool, uint64_t seed);

/* A pool's algorithm as a user gives it. `state` is what create has stored, or the argument of comity_pool_create_user
 * if create is NULL. The functions must not switch, and must stand being called by as many at the same time as the
 * access says; Comity adds no lock. */
typedef struct comity_pool_functions {
    int (*create)(void *arg, void **state);        /* 0 or an error number; may be NULL */
    void (*free)(void *state);                     /* may be NULL */
    int (*push)(void *state, comity_unit_t *unit); /* 0 or an error number */
    comity_unit_t *(*pop)(void *state);            /* NULL: there is none */
    size_t (*size)(void *state);                   /* by anybody at any time */
    int (*is_empty)(void *state);                  /* likewise; NULL: size is asked */
    /* The first `n` units, or as many as there is room for or as there are: how many. NULL: push and pop are called. */
    size_t (*push_many)(void *state, comity_unit_t *const *units, size_t n);
    size_t (*pop_many)(void *state, comity_unit_t **units, size_t n);
    int (*remove)(void *state, comity_unit_t *unit); /* 0 or ENOENT; NULL: comity_pool_remove returns ENOTSUP */
    void (*for_each)(void *state, void (*fn)(void *arg, comity_unit_t *unit), void *arg); /* NULL: as remove */
} comity_pool_functions_t;

/* Makes a pool of the user's own. The functions are copied. EINVAL: no such access; push, pop or size is NULL; ENOMEM;
 * or what create returned. */
COMITY_API int comity_pool_create_user(comity_pool_t **pool, comity_pool_access_t access,
                                       const comity_pool_functions_t *functions, void *arg);

/* Frees a pool that nobody uses any more: all calls on it have returned, and the schedulers over it have
 * ended or got another order. EBUSY: units are in it. */
COMITY_API int comity_pool_free(comity_pool_t *pool);

/* A producer's. ENOMEM: nothing has happened. EINVAL: pool or unit is NULL. Of a user's pool: what its push returned.
 */
COMITY_API int comity_pool_push(comity_pool_t *pool, comity_unit_t *unit);
/* Pushes units[0 .. n) in this order, and stores in *pushed (which may be NULL) how many: with an error the first ones.
 */
COMITY_API int comity_pool_push_many(comity_pool_t *pool, comity_unit_t *const *units, size_t n, size_t *pushed);

/* A consumer's. Stores the next unit; NULL, and returns EAGAIN, if the pool is empty. EINVAL: pool or unit is NULL.
 */
COMITY_API int comity_pool_pop(comity_pool_t *pool, comity_unit_t **unit);
/* Stores at most n units in units[0 …), in the order of as many pops, and in *popped how many. Returns 0 also for none.
 */
COMITY_API int comity_pool_pop_many(comity_pool_t *pool, comity_unit_t **units, size_t n, size_t *popped);

/* Takes this unit out of the pool, wherever it stands; whoever gets 0 has it. Slow: it looks through the pool. A
 * consumer's. ENOENT: it is not there, or somebody else has just taken it; ENOTSUP. */
COMITY_API int comity_pool_remove(comity_pool_t *pool, comity_unit_t *unit);

/* Units that are in the pool; exact while nobody uses it; NULL has none. Anybody. */
COMITY_API size_t comity_pool_size(const comity_pool_t *pool);
COMITY_API int comity_pool_is_empty(const comity_pool_t *pool);

/* Calls fn(arg, unit) for each unit, which it must neither push, pop nor free. In the order of the pops, but for random
 * pools. While nobody else uses the pool. ENOTSUP. */
COMITY_API int comity_pool_for_each(comity_pool_t *pool, void (*fn)(void *arg, comity_unit_t *unit), void *arg);

/* What the pool was made with. Anybody. */
COMITY_API comity_pool_access_t comity_pool_access(const comity_pool_t *pool);
COMITY_API comity_pool_order_t comity_pool_order(const comity_pool_t *pool);
/* One line for people: "pool 0x…: mpsc, fifo, 3 units". */
COMITY_API void comity_pool_print(const comity_pool_t *pool, FILE *file);

/* ---- Whose a side is
 * Where the access allows only one at a side, it is whoever is there, one after the other; those who take turns must
 * see to it that each sees what the one before did, as with any data. A side can be given to one for good: every other
 * one's calls are refused with EPERM. A hart or a context, not a kernel thread: computations and harts move between
 * those. */
typedef enum comity_pool_side {
    COMITY_POOL_PRODUCER = 1,
    COMITY_POOL_CONSUMER = 2,
    COMITY_POOL_BOTH_SIDES = 3 /* also what either side of a private pool means */
} comity_pool_side_t;
typedef enum comity_pool_owner {
    COMITY_POOL_OWNER_NONE = 0,
    COMITY_POOL_OWNER_HART = 1,   /* the hart that the caller holds */
    COMITY_POOL_OWNER_CONTEXT = 2 /* the calling context, wherever it goes on; threads that it calls while it joins them
                                   * run in it as well */
} comity_pool_owner_t;
/* While nobody uses the side. EINVAL: no pool (NULL), no such side, the access allows many there, or the caller has no
 * such owner; EPERM: it is another's. */
COMITY_API int comity_pool_own(comity_pool_t *pool, comity_pool_side_t side, comity_pool_owner_t owner);

#ifdef __cplusplus
}
#endif
#endif
