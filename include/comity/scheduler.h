/* Schedulers of threads: in which order, and on how many harts.
 *
 * comity_threads_begin opens a work-stealing scheduler; comity_threads_begin_with one of another kind. Every kind runs
 * threads of every technique. Schedulers nest: one opened in a thread of another one gets its harts from that one. A
 * scheduler may be given another kind, or more or fewer harts, while its threads run. After Iwasaki (2019), sections
 * 2.3 and 3.1 (schedulers over pools) and Pan (2010), chapter 4 (nesting).
 *
 * What a scheduler chooses from are units (comity/pool.h): threads that have not started, and contexts that may go on.
 * docs/schedulers.md says what each kind promises. */
#ifndef COMITY_SCHEDULER_H
#define COMITY_SCHEDULER_H

#include "comity/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct comity_scheduler comity_scheduler_t;

/* All kinds but the first keep one order for all harts together. A program's own thread (one that Comity did not make)
 * keeps it when it yields; when it is woken it goes on as soon as it has a hart. */
typedef enum comity_scheduler_kind {
    COMITY_SCHEDULER_WORK_STEALING = 0, /* each hart has its own queues and helps others out: the fastest */
    COMITY_SCHEDULER_FIFO = 1,          /* the oldest first; who yields goes behind all */
    COMITY_SCHEDULER_LIFO = 2,          /* the newest first; who yields goes behind all */
    COMITY_SCHEDULER_PRIORITY = 3, /* the highest priority first, the oldest within one; who yields goes behind those
                                    * of his priority. Nothing lower runs while a higher one could. */
    COMITY_SCHEDULER_RANDOM = 4,   /* any, each as likely as the others */
    COMITY_SCHEDULER_POOLS = 5,    /* what the first of some pools that is not empty gives */
    COMITY_SCHEDULER_USER = 6,     /* as functions of the user's say */
    COMITY_SCHEDULER_SPACE_EFFICIENT = 7, /* depth first: what one hart alone would execute first. A thread that is
                                           * created runs at once, and its creator waits; within a priority */
    COMITY_SCHEDULER_DF_DEQUES = 8 /* nearly the same for many harts: each has a deque of its own, and who has none
                                    * left takes from one of those that come first; within a priority */
} comity_scheduler_kind_t;

/* Why a unit may run. */
typedef enum comity_occasion {
    COMITY_OCCASION_CREATED = 0, /* a thread was created */
    COMITY_OCCASION_READY = 1,   /* a context that had waited may go on, or was left by another kind of scheduler */
    COMITY_OCCASION_YIELDED = 2  /* a context let others go first */
} comity_occasion_t;

/* An order of the user's own. `state` is what init has stored, or the argument `arg` if init is NULL. push, pick and
 * has_work are called by one caller at a time, unless `concurrent` is set; on a hart, or by a thread that has none
 * (when it wakes a context). They must be short and may neither wait nor call functions that create, wake or switch.
 *   init      before anything else, where the scheduler is opened or replaced. 0 or an error number. May be NULL.
 *   fini      after everything else; no unit is left. May be NULL.
 *   push      takes a unit. 0; or anything else, and the scheduler keeps the unit and runs it when pick finds nothing.
 *   pick      gives back a unit to be run now, each unit once; NULL: there is none.
 *   has_work  would pick find something? A hart that is told no goes to sleep, until the next push. */
typedef struct comity_scheduler_functions {
    int (*init)(void *arg, void **state);
    void (*fini)(void *state);
    int (*push)(void *state, comity_unit_t *unit, comity_occasion_t why);
    comity_unit_t *(*pick)(void *state);
    int (*has_work)(void *state);
    int concurrent; /* 1: they stand being called by many at the same time */
} comity_scheduler_functions_t;

typedef struct comity_scheduler_attr {
    comity_scheduler_kind_t kind;
    unsigned most_harts;         /* how many harts may be in the scheduler and below it; 0: all there are */
    uint64_t seed;               /* random: 0 is the seed of COMITY_CHAOS, or 1 without it */
    comity_pool_t *const *pools; /* pools: `pool_count` pools that many may push to and pop from (COMITY_POOL_MPMC). */
    size_t pool_count;           /*   A unit that may run goes to the first one, or to the last one if it yielded. */
    const comity_scheduler_functions_t *functions; /* user: copied */
    void *arg;
    size_t quota; /* space-efficient and DF deques: how many bytes a thread may allocate until others may go first
                   * (comity_scheduler_charge); 0: 50,000; SIZE_MAX: any number */
} comity_scheduler_attr_t;

/* As comity_threads_begin; attr may be NULL. comity_threads_end ends it. Where: any thread, context. May switch.
 * Returns 0; ENOMEM; EINVAL: no such kind, a function is missing, or a pool is missing or not for many; or what init
 * returned. Pools stay the user's: he frees them after the end. */
COMITY_API int comity_threads_begin_with(const comity_scheduler_attr_t *attr);

/* Gives the caller's scheduler of threads another kind, and its limit of harts if most_harts is not 0. Units that wait
 * move to the new order, in the order in which the old one would have run them. Harts that are in work-stealing order
 * come to the new one within 16 of their units. Takes time in proportion to the units. Where: context of the scheduler,
 * in a thread or where it was opened. Never switches. Returns 0; EPERM: no scheduler of threads is current; errors of
 * comity_threads_begin_with, and nothing has changed. */
COMITY_API int comity_scheduler_replace(const comity_scheduler_attr_t *attr);

/* At most `n` harts shall be in the caller's scheduler and below it; 0: all there are. Harts above the limit leave
 * within 16 of their units, but for the one of the program's own thread, whose computation this is; when the limit
 * rises others come if there is work. Where: as replace. Never switches. Returns 0, or EPERM as replace. */
COMITY_API int comity_scheduler_set_harts(unsigned n);

/* The caller's scheduler of threads, or NULL. Valid until its end. Where: anywhere but a signal handler.
 * Never switches. */
COMITY_API comity_scheduler_t *comity_scheduler_self(void);

/* The calling thread is about to allocate so many bytes, or has freed so many. Under a space-efficient scheduler it has
 * a quota for each time that it gets a hart, under one of DF deques for each time that its hart takes work from all:
 * when that is used up, it waits until it is the first again by the order; for more than a quota at once it waits as if
 * it had created a thread that does nothing for each quota in it. What it frees it may allocate again. Others are not
 * charged: under other kinds, in a stackless thread, and without a scheduler both do nothing. Where: anywhere but a
 * signal handler and a scheduler's callback. charge may switch, so not while the caller holds a lock for which others
 * spin, or wait in the kernel; credit never switches. An allocator may charge whatever it allocates, for Comity itself,
 * too. After Narlikar and Blelloch (1998), section 4. */
COMITY_API void comity_scheduler_charge(size_t bytes);
COMITY_API void comity_scheduler_credit(size_t bytes);

/* Tells a scheduler that units were put into one of its pools from outside, so that harts come for them. Where: any
 * thread, context, transition, while the scheduler has not ended. Never switches. */
COMITY_API void comity_scheduler_notify(comity_scheduler_t *scheduler);

/* What the caller's scheduler is. */
typedef struct comity_scheduler_info {
    comity_scheduler_kind_t kind;
    unsigned most_harts; /* its limit */
    unsigned harts;      /* how many are in it and below it now */
} comity_scheduler_info_t;
/* Where: anywhere but a signal handler. Never switches. Returns 0; EPERM: no scheduler of threads is current; EINVAL.
 */
COMITY_API int comity_scheduler_get_info(comity_scheduler_info_t *info);

#ifdef __cplusplus
}
#endif
#endif
