/* Synchronisation objects. Waiting spins a little and then blocks the calling context, never its hart (design rule 5;
 * Pan, section 5.4), so they may be shared by all kinds of contexts: Comity threads, ranks of parallel regions, and
 * kernel threads that hold no hart, which sleep in the kernel instead. docs/sync.md compares them.
 *
 * Every object may be zero-initialised statically, but for those whose *_init takes a number. *_fini waits until
 * the calls that woke somebody have left the object; nobody may wait on it then. None of these functions may be called
 * in a signal handler or in a scheduler callback, but for those that wake (unlock, signal, broadcast, set, post,
 * count_down), which may be called in callbacks. "Where: any" is any thread and any context.
 *
 * Those that wait with a deadline (comity_now, comity_deadline_in) return 0, or ETIMEDOUT when it has passed; one that
 * has passed before the call is not an error: then they take what is to be had at once, and else let others run on the
 * hart before they look a last time. They never return early.
 *
 * The waits for conditions, semaphores, latches, events, eventuals and futures, timed or not, are cancellation points
 * (comity/thread.h): a request that is there before the call, or comes while it waits, ends the thread there; what was
 * waited for is as it was, and the mutex of a condition is locked again before the cleanup handlers run. In a thread
 * that unwinds by itself they return ECANCELED. Without a deadline they return 0 else. Waits for mutexes,
 * readers-writer locks, barriers and once are no cancellation points. */
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
/* Where: any. May switch. Returns 0 or ETIMEDOUT. */
COMITY_API int comity_mutex_timedlock(comity_mutex_t *mutex, int64_t deadline);
/* Need not be called by the context that locked it. Where: any. Never switches. Aborts: when it is not locked. */
COMITY_API void comity_mutex_unlock(comity_mutex_t *mutex);

/* ---- Recursive mutex: its owner, the thread that locked it, may lock it again, and must unlock it as often. */
typedef struct comity_recursive_mutex {
    COMITY_ALIGN(8) unsigned char opaque_[128];
} comity_recursive_mutex_t;
#define COMITY_RECURSIVE_MUTEX_INIT                                                                                    \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* As those of the plain mutex, and: lock, trylock and timedlock return EAGAIN when it is locked 2^32 - 1 times already;
 * trylock returns 0 when it took the lock, EBUSY when another context has it; unlock returns 0, or EPERM when the
 * caller is not the owner. */
COMITY_API void comity_recursive_mutex_init(comity_recursive_mutex_t *mutex);
COMITY_API void comity_recursive_mutex_fini(comity_recursive_mutex_t *mutex);
COMITY_API int comity_recursive_mutex_lock(comity_recursive_mutex_t *mutex);
COMITY_API int comity_recursive_mutex_trylock(comity_recursive_mutex_t *mutex);
COMITY_API int comity_recursive_mutex_timedlock(comity_recursive_mutex_t *mutex, int64_t deadline);
COMITY_API int comity_recursive_mutex_unlock(comity_recursive_mutex_t *mutex);

/* ---- Readers-writer lock: readers share it, a writer has it alone. Who comes while somebody of the other kind waits
 * stands behind him: a writer waits for the readers inside, and a reader for one writer more than those. Not recursive.
 */
typedef struct comity_rwlock {
    COMITY_ALIGN(8) unsigned char opaque_[128];
} comity_rwlock_t;
#define COMITY_RWLOCK_INIT                                                                                             \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* Where: any. Never switch. fini aborts when it is locked. */
COMITY_API void comity_rwlock_init(comity_rwlock_t *lock);
COMITY_API void comity_rwlock_fini(comity_rwlock_t *lock);
/* For reading, for writing. Where: any. May switch. At most a million contexts at once. */
COMITY_API void comity_rwlock_rdlock(comity_rwlock_t *lock);
COMITY_API void comity_rwlock_wrlock(comity_rwlock_t *lock);
/* Return 1 when they took the lock, else 0. Where: any. Never switch. */
COMITY_API int comity_rwlock_tryrdlock(comity_rwlock_t *lock);
COMITY_API int comity_rwlock_trywrlock(comity_rwlock_t *lock);
/* Where: any. May switch. Return 0 or ETIMEDOUT. */
COMITY_API int comity_rwlock_timedrdlock(comity_rwlock_t *lock, int64_t deadline);
COMITY_API int comity_rwlock_timedwrlock(comity_rwlock_t *lock, int64_t deadline);
/* Need not be called by the context that locked it. Where: any. Never switch. Abort: when it is not locked so. */
COMITY_API void comity_rwlock_rdunlock(comity_rwlock_t *lock);
COMITY_API void comity_rwlock_wrunlock(comity_rwlock_t *lock);

/* ---- Condition: waiters may wake without a signal, so wait in a loop. */
typedef struct comity_condition {
    COMITY_ALIGN(8) unsigned char opaque_[128];
} comity_condition_t;
#define COMITY_CONDITION_INIT                                                                                          \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* Where: any. Never switch. */
COMITY_API void comity_condition_init(comity_condition_t *condition);
COMITY_API void comity_condition_fini(comity_condition_t *condition);
/* Unlocks the mutex, waits for a signal, and locks it again. Where: any; the caller holds the mutex. May switch. */
COMITY_API int comity_condition_wait(comity_condition_t *condition, comity_mutex_t *mutex);
/* The same; ETIMEDOUT: without a signal; the mutex is locked in any case, also with ECANCELED. */
COMITY_API int comity_condition_timedwait(comity_condition_t *condition, comity_mutex_t *mutex, int64_t deadline);
/* The same with a lock of any kind: prepare while holding it, then unlock it, then wait with what prepare returned,
 * then lock it. A signal after prepare ends the wait. prepare: where: any; never switches. wait_prepared: as timedwait;
 * a thread that ends there does not have the lock. */
COMITY_API uint32_t comity_condition_prepare(const comity_condition_t *condition);
COMITY_API int comity_condition_wait_prepared(comity_condition_t *condition, uint32_t prepared, int64_t deadline);
/* Wakes one waiter, or all, if there are any. The caller need not hold the mutex. Where: any. Never switches. */
COMITY_API void comity_condition_signal(comity_condition_t *condition);
COMITY_API void comity_condition_broadcast(comity_condition_t *condition);

/* ---- Semaphore: a number, 0 to COMITY_SEMAPHORE_MAX; zero-initialised it is 0. What was written before a post is seen
 * after the wait that it ends. */
typedef struct comity_semaphore {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_semaphore_t;
#define COMITY_SEMAPHORE_INIT                                                                                          \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }
#define COMITY_SEMAPHORE_MAX 0x7fffffff

/* Returns 0, or EINVAL when the value is too large. Where: any. Never switches. */
COMITY_API int comity_semaphore_init(comity_semaphore_t *semaphore, unsigned value);
/* Where: any. Never switches. */
COMITY_API void comity_semaphore_fini(comity_semaphore_t *semaphore);
/* Waits until it is not 0, and takes one off. Where: any. May switch. */
COMITY_API int comity_semaphore_wait(comity_semaphore_t *semaphore);
COMITY_API int comity_semaphore_timedwait(comity_semaphore_t *semaphore, int64_t deadline);
/* Returns 1 when it took one off, 0 when it was 0. Where: any. Never switches. */
COMITY_API int comity_semaphore_trywait(comity_semaphore_t *semaphore);
/* Adds 1, or n. Where: any. Never switch. Return 0, or EOVERFLOW when it would exceed the most; then nothing changes.
 */
COMITY_API int comity_semaphore_post(comity_semaphore_t *semaphore);
COMITY_API int comity_semaphore_post_many(comity_semaphore_t *semaphore, unsigned n);
/* The number, stale at once. Where: any. Never switches. */
COMITY_API unsigned comity_semaphore_value(const comity_semaphore_t *semaphore);

/* ---- Barrier: for a number of contexts, again and again. Each time it opens a phase ends. */
typedef struct comity_barrier {
    COMITY_ALIGN(8) unsigned char opaque_[256];
} comity_barrier_t;
#define COMITY_BARRIER_MAX 0xffffff

/* number: how many arrivals open it; no more contexts and threads may take part at a time. Returns 0, or EINVAL when it
 * is 0 or more than COMITY_BARRIER_MAX. Where: any. Never switches. */
COMITY_API int comity_barrier_init(comity_barrier_t *barrier, unsigned number);
/* Where: any. Never switches. */
COMITY_API void comity_barrier_fini(comity_barrier_t *barrier);
/* Arrives, and returns when the phase is over: 1 in the one who opened it, 0 in the others. Where: any. May switch.
 * Aborts, as arrive and drop do: when everybody has dropped out. */
COMITY_API int comity_barrier_wait(comity_barrier_t *barrier);
/* Arrives without waiting; returns the phase for wait_phase. Where: any. Never switches. */
COMITY_API unsigned comity_barrier_arrive(comity_barrier_t *barrier);
/* Waits for the end of a phase, the present one or the one before. Where: any. May switch. Returns 0 or ETIMEDOUT; the
 * arrival counts all the same. */
COMITY_API int comity_barrier_wait_phase(comity_barrier_t *barrier, unsigned phase, int64_t deadline);
/* Arrives, and lowers the number by one for the phases that follow. Where: any. Never switches. */
COMITY_API void comity_barrier_drop(comity_barrier_t *barrier);
/* Changes the number, from this phase on: if so many have arrived already it opens, and nobody is told that he opened
 * it. Returns 0, or EINVAL as init does. Where: any. Never switches. */
COMITY_API int comity_barrier_resize(comity_barrier_t *barrier, unsigned number);

/* ---- Latch: is counted down to 0 and then stays open; zero-initialised it is open. */
typedef struct comity_latch {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_latch_t;
#define COMITY_LATCH_INIT                                                                                              \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* count: 0 to 2^32 - 1. Where: any. Never switch. */
COMITY_API void comity_latch_init(comity_latch_t *latch, unsigned count);
COMITY_API void comity_latch_fini(comity_latch_t *latch);
/* Returns 0, or EINVAL when n is more than is left; then nothing changes. Where: any. Never switches. */
COMITY_API int comity_latch_count_down(comity_latch_t *latch, unsigned n);
/* 1 when it is open. Where: any. Never switches. */
COMITY_API int comity_latch_is_open(const comity_latch_t *latch);
/* Where: any. May switch. */
COMITY_API int comity_latch_wait(comity_latch_t *latch);
COMITY_API int comity_latch_timedwait(comity_latch_t *latch, int64_t deadline);

/* ---- Continuations: a function that is called when something is set, instead of a context that waits for it. Storage
 * that must stay in place until the function is called or forget has returned 1. The function is called by whoever
 * sets, on his stack, after his last access to the object; so set may do whatever the functions do;
 * meanwhile he is not cancelled. */
typedef struct comity_continuation {
    COMITY_ALIGN(8) unsigned char opaque_[128];
} comity_continuation_t;
#define COMITY_CONTINUATION_INIT                                                                                       \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* ---- Event: not set, or set until it is reset. What was written before the set is seen after the wait. */
typedef struct comity_event {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_event_t;
#define COMITY_EVENT_INIT                                                                                              \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* Where: any. Never switch. */
COMITY_API void comity_event_init(comity_event_t *event);
COMITY_API void comity_event_fini(comity_event_t *event);
/* Where: any. Never switch (set: but for what continuations do). is_set: 1 or 0. */
COMITY_API void comity_event_set(comity_event_t *event);
COMITY_API void comity_event_reset(comity_event_t *event);
COMITY_API int comity_event_is_set(const comity_event_t *event);
/* Returns when it is set. A set followed by a reset before the waiter has looked may be missed.
 * Where: any. May switch. */
COMITY_API int comity_event_wait(comity_event_t *event);
COMITY_API int comity_event_timedwait(comity_event_t *event, int64_t deadline);
/* The next set calls fn(arg), once. Returns 1, or 0 when it is set already: then fn is not called.
 * Where: any. Never switches. */
COMITY_API int comity_event_on_set(comity_event_t *event, comity_continuation_t *continuation, void (*fn)(void *arg),
                                   void *arg);
/* Takes a continuation back. Returns 1, or 0 when it has been called or is about to be. Where: any. Never switches. */
COMITY_API int comity_event_forget(comity_event_t *event, comity_continuation_t *continuation);

/* ---- Once: something that is done by the first who comes; the others wait until it has been done. */
typedef struct comity_once_flag {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_once_t;
#define COMITY_ONCE_INIT                                                                                               \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* Calls fn(arg) unless a call with this `once` has returned. fn must not use the same `once`. Where: any. May switch.
 */
COMITY_API void comity_once(comity_once_t *once, void (*fn)(void *arg), void *arg);
/* In two steps, for what may fail. begin: 1 when the caller has to do it and then to call end; 0 when it has been done.
 * end: done is 0 when it failed: then the next one tries. begin: where: any; may switch. end: never switches; aborts
 * when nobody has begun. */
COMITY_API int comity_once_begin(comity_once_t *once);
COMITY_API void comity_once_end(comity_once_t *once, int done);
/* Needed only when the memory is used again. Where: any. Never switches. */
COMITY_API void comity_once_fini(comity_once_t *once);

/* ---- Eventual: a value of up to `size` bytes that is set once, and then can be read by all. */
typedef struct comity_eventual {
    COMITY_ALIGN(8) unsigned char opaque_[128];
} comity_eventual_t;

/* Returns 0 or ENOMEM. size may be 0. Where: any. Never switches. */
COMITY_API int comity_eventual_init(comity_eventual_t *eventual, size_t size);
/* Frees the value. Where: any. Never switches. */
COMITY_API void comity_eventual_fini(comity_eventual_t *eventual);
/* Copies `size` bytes, and wakes all. Returns 0; EINVAL when that is more than init was told; EALREADY when it is set.
 * Where: any. Never switches (but for what continuations do). */
COMITY_API int comity_eventual_set(comity_eventual_t *eventual, const void *value, size_t size);
/* Waits until it is set; stores the address of the value, which lives until reset or fini (value may be NULL).
 * Where: any. May switch. */
COMITY_API int comity_eventual_wait(comity_eventual_t *eventual, void **value);
COMITY_API int comity_eventual_timedwait(comity_eventual_t *eventual, void **value, int64_t deadline);
/* 1 when it is set, and then as wait; else 0. Where: any. Never switches. */
COMITY_API int comity_eventual_test(comity_eventual_t *eventual, void **value);
/* Not set again. Where: any; nobody uses it meanwhile. Never switches. */
COMITY_API void comity_eventual_reset(comity_eventual_t *eventual);
/* As those of the event. */
COMITY_API int comity_eventual_on_set(comity_eventual_t *eventual, comity_continuation_t *continuation,
                                      void (*fn)(void *arg), void *arg);
COMITY_API int comity_eventual_forget(comity_eventual_t *eventual, comity_continuation_t *continuation);

/* ---- Future: `number` values, each set by somebody; ready when the last one is. */
typedef struct comity_future {
    COMITY_ALIGN(8) unsigned char opaque_[128];
} comity_future_t;

/* full, if not NULL, is called as full(values, number, arg) by whoever sets the last value, before anybody wakes.
 * Returns 0, EINVAL when number is 0, or ENOMEM. Where: any. Never switches. */
COMITY_API int comity_future_init(comity_future_t *future, unsigned number,
                                  void (*full)(void **values, unsigned number, void *arg), void *arg);
/* Frees the places. Where: any. Never switches. */
COMITY_API void comity_future_fini(comity_future_t *future);
/* Puts a value into the next free place. Returns 0, or EALREADY when all are taken. Where: any. Never switches (but for
 * what `full` and continuations do). */
COMITY_API int comity_future_set(comity_future_t *future, void *value);
/* As those of the eventual; values: the places, in the order of the calls of set. */
COMITY_API int comity_future_wait(comity_future_t *future, void ***values);
COMITY_API int comity_future_timedwait(comity_future_t *future, void ***values, int64_t deadline);
COMITY_API int comity_future_test(comity_future_t *future, void ***values);
COMITY_API void comity_future_reset(comity_future_t *future);
COMITY_API int comity_future_on_set(comity_future_t *future, comity_continuation_t *continuation, void (*fn)(void *arg),
                                    void *arg);
COMITY_API int comity_future_forget(comity_future_t *future, comity_continuation_t *continuation);

/* ---- Timer: a function that is called at a certain time, once or again and again. It runs on the kernel thread that
 * serves all deadlines: it should be short, and may wake (set, post, signal, broadcast, comity_thread_resume,
 * comity_thread_cancel), start and stop timers, and create threads under a scheduler; it must not wait for anything.
 * What takes longer a thread does that it wakes. */
typedef struct comity_timer {
    COMITY_ALIGN(8) unsigned char opaque_[128];
} comity_timer_t;
#define COMITY_TIMER_INIT                                                                                              \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }

/* As zero-initialised memory. Not while it has been started and not stopped. Where: any. Never switches. */
COMITY_API void comity_timer_init(comity_timer_t *timer);
/* Calls fn(arg) at `deadline` or soon after, and, if period is not 0, then every `period` nanoseconds; those that it is
 * too late for when the one before has returned are left out. The timer must be stopped before its memory goes, also
 * when its last call has been made. Where: any, also in fn. Never switches. Returns 0; EINVAL: no timer, no function,
 * or period < 0; EBUSY: it has been started, and is not over; EAGAIN: no kernel thread is to be had that would call. */
COMITY_API int comity_timer_start(comity_timer_t *timer, int64_t deadline, int64_t period, void (*fn)(void *arg),
                                  void *arg);
/* No call begins after it, and one that is under way is waited for, by spinning, but in fn itself. Where: any. Never
 * switches. Returns 1 if a call was due that is not made now, else 0. */
COMITY_API int comity_timer_stop(comity_timer_t *timer);

#ifdef __cplusplus
}
#endif
#endif
