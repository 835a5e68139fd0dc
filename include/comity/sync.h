/* Synchronisation objects. Waiting spins a little and then blocks the calling context, never its hart (design rule 5;
 * Pan, section 5.4), so they may be shared by all kinds of contexts: Comity threads, ranks of parallel regions, and
 * kernel threads that hold no hart, which sleep in the kernel instead.
 *
 * Every object may be zero-initialised statically (a barrier must be initialised with its number). *_fini waits until
 * the calls that woke somebody have left the object; nobody may wait on it then. None of these functions may be called
 * in a signal handler or in a scheduler callback, but for those that wake (unlock, signal, broadcast, set), which may
 * be called in callbacks. "Where: any" is any thread and any context. */
#ifndef COMITY_SYNC_H
#define COMITY_SYNC_H

#include "comity/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Mutex: whoever comes while it is free gets it, which keeps convoys away; one who has waited for a millisecond
 * gets it handed over. */
typedef struct comity_mutex {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_mutex_t;
#define COMITY_MUTEX_INIT                                                                                              \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* Where: any. Never switches. */
COMITY_API void comity_mutex_init(comity_mutex_t *mutex);
/* Where: any. Never switches. Aborts: when it is locked. */
COMITY_API void comity_mutex_fini(comity_mutex_t *mutex);
/* Not recursive: locking it twice waits for ever. Where: any. May switch. */
COMITY_API void comity_mutex_lock(comity_mutex_t *mutex);
/* Returns 1 when it took the lock, 0 when somebody has it. Where: any. Never switches. */
COMITY_API int comity_mutex_trylock(comity_mutex_t *mutex);
/* Need not be called by the context that locked it. Where: any. Never switches. Aborts: when it is not locked. */
COMITY_API void comity_mutex_unlock(comity_mutex_t *mutex);

/* ---- Condition: waiters may wake without a signal, so wait in a loop. */
typedef struct comity_condition {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_condition_t;
#define COMITY_CONDITION_INIT                                                                                          \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

COMITY_API void comity_condition_init(comity_condition_t *condition);
COMITY_API void comity_condition_fini(comity_condition_t *condition);
/* Unlocks the mutex, waits for a signal, and locks it again. Where: any; the caller holds the mutex. May switch. */
COMITY_API void comity_condition_wait(comity_condition_t *condition, comity_mutex_t *mutex);
/* Wakes one waiter, or all, if there are any. The caller need not hold the mutex. Where: any. Never switches. */
COMITY_API void comity_condition_signal(comity_condition_t *condition);
COMITY_API void comity_condition_broadcast(comity_condition_t *condition);

/* ---- Barrier: for a number of contexts, again and again. */
typedef struct comity_barrier {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_barrier_t;

/* count: how many arrivals open it. Returns 0, or EINVAL when count is 0. Where: any. Never switches. */
COMITY_API int comity_barrier_init(comity_barrier_t *barrier, unsigned count);
COMITY_API void comity_barrier_fini(comity_barrier_t *barrier);
/* Returns when `count` have arrived; 1 in one of them, 0 in the others. Where: any. May switch. */
COMITY_API int comity_barrier_wait(comity_barrier_t *barrier);

/* ---- Event: not set, or set until it is reset. What was written before the set is seen after the wait. */
typedef struct comity_event {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_event_t;
#define COMITY_EVENT_INIT                                                                                              \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

COMITY_API void comity_event_init(comity_event_t *event);
COMITY_API void comity_event_fini(comity_event_t *event);
/* Where: any. Never switch. is_set: 1 or 0. */
COMITY_API void comity_event_set(comity_event_t *event);
COMITY_API void comity_event_reset(comity_event_t *event);
COMITY_API int comity_event_is_set(const comity_event_t *event);
/* Returns when it is set. A set followed by a reset before the waiter has looked may be missed.
 * Where: any. May switch. */
COMITY_API void comity_event_wait(comity_event_t *event);

#ifdef __cplusplus
}
#endif
#endif
