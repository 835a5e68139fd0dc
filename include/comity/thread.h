/* User-level threads.
 *
 * After Iwasaki, "Lightweight user-level threads..." (Argobots, BOLT; 2019), chapter 3: a thread that can block may
 * cost as little as a task that cannot. Threads run on the harts of the scheduler under which they are created, and
 * only take turns: one that neither ends, blocks, yields nor joins keeps its hart.
 *
 * Where a comment says "any thread", it means also a kernel thread that Comity did not make; "context" is code that
 * runs under Comity (docs/glossary.md). None of these functions may be called in a signal handler or a scheduler
 * callback. */
#ifndef COMITY_THREAD_H
#define COMITY_THREAD_H

#include "comity/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct comity_thread comity_thread_t;

/* How a thread is made, switched and ended (table 3.1). Parent-first: the creator goes on, and the thread starts when a
 * hart comes to it. Child-first: the thread starts at once, and its creator waits where other harts may steal it. "-L"
 * and "-E" have a stack from start to end, the others from creation to join. All but stackless can wait anywhere. */
typedef enum comity_technique {
    COMITY_TECHNIQUE_DEFAULT = 0, /* RoC-L */
    COMITY_TECHNIQUE_FULL = 1,    /* starts and ends by a switch (3.3.3): the best when nearly all wait */
    COMITY_TECHNIQUE_FULL_L = 2,
    COMITY_TECHNIQUE_ROC = 3,   /* called like a function, and returns like one if it was never stopped (3.4.1) */
    COMITY_TECHNIQUE_ROC_L = 4, /* the best when few threads wait */
    /* The next three need a scheduler that keeps nothing on its stack, as all of Comity's do. */
    COMITY_TECHNIQUE_SS = 5, /* the same, and the scheduler's registers are not saved (3.4.2) */
    COMITY_TECHNIQUE_SS_L = 6,
    COMITY_TECHNIQUE_SC = 7,        /* on the scheduler's own stack, which it keeps when it is stopped (3.4.4); with the
                                     * default stack size and no storage of its own, else as SS-L */
    COMITY_TECHNIQUE_STACKLESS = 8, /* a function call: it cannot wait, and aborts if it would have to (3.3.1). With a
                                     * stack size, storage or an affinity of its own: EINVAL */
    COMITY_TECHNIQUE_C_FULL = 9,    /* child-first (3.3.4, 3.5) */
    COMITY_TECHNIQUE_C_FULL_E = 10,
    COMITY_TECHNIQUE_C_ROC = 11,
    COMITY_TECHNIQUE_C_ROC_E = 12, /* the best when few threads wait or are stolen */
    /* RoC-L, and whether a joiner runs a thread itself goes by how often such threads were stopped of late: the best,
     * or close to it, whatever share of the threads waits (section 3.8 leaves this choice to the future). */
    COMITY_TECHNIQUE_AUTOMATIC = 13
} comity_technique_t;

typedef struct comity_thread_attr {
    comity_technique_t technique;
    size_t stack_size; /* bytes; 0: the default (COMITY_STACK_SIZE); rounded up to pages, with own_tls to 16 KiB at
                        * least; 4 GiB or more: EINVAL. At most 2048 makes a small stack, without a guard:
                        * docs/threads.md, "Memory" */
    int own_tls;  /* 1: thread-local storage of its own, kept wherever it runs (errno, __thread, pthread_self). 0: that
                   * of its carrier of the moment, which is another one after anything that may switch; C++ exceptions
                   * are kept all the same. */
    int detached; /* 1: nobody joins it; its resources are freed when it ends */
    unsigned char priority; /* 0 … 255, the higher, the sooner, under a scheduler that goes by it */
    int unwinds; /* 1: a cancellation point returns ECANCELED to the thread instead of ending it, so that it can leave
                  * its frames by itself (comity/thread.hpp throws). Of threads made by comity_thread_prepare.
                  * COMITY_THREAD_UNWINDS_CXX: also, the thread's result is not the program's, so that
                  * comity_thread_exit drops the value that it is given, but COMITY_THREAD_CANCELLED. Any other result
                  * of its function but NULL begins with a function of type void (*)(void *result), which is called
                  * when nobody will join the thread any more. */
    const int *harts;  /* its affinity: the numbers of `hart_count` harts that may run it, copied; not for stackless */
    size_t hart_count; /*   threads. 0: any hart may */
} comity_thread_attr_t;

#define COMITY_THREAD_UNWINDS_CXX 3

/* The bytes for data in a thread's descriptor (comity_thread_prepare). */
#define COMITY_THREAD_DATA 48

/* Opens a work-stealing scheduler below the caller's, for the threads that the caller and its threads will create.
 * Without it the first comity_thread_create opens one, and the first join by its creator after which no thread lives
 * ends it, or the end of a creator that is a thread of the program (it waits for the threads that it detached):
 * convenient, but slow in a loop. Where: any thread, context. May switch (a thread that Comity did not make waits for a
 * hart). Returns 0 or ENOMEM; EPERM: the caller has changed what the kernel keeps of it alone (its priority, say). */
COMITY_API int comity_threads_begin(void);

/* Waits until every thread under the scheduler has ended, detached ones too, and ends it.
 * Where: the context that called comity_threads_begin. May switch. Aborts: elsewhere. */
COMITY_API void comity_threads_end(void);

struct comity_scheduler;
/* As comity_threads_end, of the scheduler that comity_scheduler_self (comity/scheduler.h) has told after it was opened.
 * Aborts also where another one that the context opened later is still open. */
COMITY_API void comity_threads_end_of(const struct comity_scheduler *scheduler);

/* Creates a thread that runs fn(arg). attr may be NULL. Parent-first: the caller goes on, the thread starts when a hart
 * comes to it. What fn returns is the thread's result. `thread` may be NULL for a detached thread. Where: any thread,
 * context. May switch (only when it opens a scheduler). Returns 0; EINVAL (technique, stack size, no place for a
 * joinable thread); ENOMEM; EAGAIN (no thread-local storage to be had). */
COMITY_API int comity_thread_create(comity_thread_t **thread, const comity_thread_attr_t *attr, void *(*fn)(void *),
                                    void *arg);

/* The same in two steps: prepare makes a thread whose fn will get `*data`, COMITY_THREAD_DATA bytes in the thread's
 * descriptor aligned to 16, which live until it is joined (detached: until it ends); launch makes it ready to run,
 * once, and before it nobody may wait for the thread; discard frees one that was not launched. Where: context of a
 * scheduler of threads, any thread. May switch. Errors: as above, from prepare; launch: ENOMEM, EAGAIN: the thread
 * stands as before, to be launched later or discarded; launch and discard: EINVAL: it was launched before, or was made
 * by another function than prepare. */
COMITY_API int comity_thread_prepare(comity_thread_t **thread, const comity_thread_attr_t *attr, void *(*fn)(void *),
                                     void **data);
COMITY_API int comity_thread_launch(comity_thread_t *thread);
COMITY_API int comity_thread_discard(comity_thread_t *thread);

/* The same three for another scheduler than the caller's (comity_scheduler_self, comity/scheduler.h), which must not
 * end before they return: one of its threads lives until then, or whoever opened it waits for that. The thread runs on
 * the harts of that scheduler, and its end waits for it; child-first techniques start it as the others do. pool: NULL,
 * or one of the scheduler's pools, where the thread will stand until it is picked (COMITY_SCHEDULER_POOLS; with
 * COMITY_SCHEDULER_USER any pool: which ones its functions look into only they know). Where: any thread, context; a
 * thread without a hart waits for one, and gives it to that scheduler if that wants it: while all harts are busy many
 * such calls in a row take up to a millisecond each. May switch (only for that). Return as the others; EINVAL also
 * without a scheduler or with a pool that is not one of its own, and ENOTSUP: the scheduler takes none, then nothing
 * has happened; the errors of comity_pool_push: then launch_under's thread stands as before. comity_thread_launch
 * itself launches under the caller's scheduler, wherever it was prepared. */
struct comity_pool;
COMITY_API int comity_thread_create_under(struct comity_scheduler *scheduler, struct comity_pool *pool,
                                          comity_thread_t **thread, const comity_thread_attr_t *attr,
                                          void *(*fn)(void *), void *arg);
COMITY_API int comity_thread_prepare_under(struct comity_scheduler *scheduler, comity_thread_t **thread,
                                           const comity_thread_attr_t *attr, void *(*fn)(void *), void **data);
COMITY_API int comity_thread_launch_under(comity_thread_t *thread, struct comity_scheduler *scheduler,
                                          struct comity_pool *pool);

/* Waits for the thread's end, stores its result (NULL: not wanted) and frees it. A thread that has not started runs at
 * once, if the caller's hart has it at hand. A cancellation point where it has to wait; while the caller itself runs
 * the thread, which had not started, it does not wait and is not cancelled before that ends. Where: any thread,
 * context. May switch. Returns 0; EINVAL when the thread is detached or joined by another at this moment, was prepared
 * and not launched, or NULL; EDEADLK when it is the caller. A handle that was joined is invalid: often EINVAL, but it
 * may be another thread's by then. */
COMITY_API int comity_thread_join(comity_thread_t *thread, void **result);

/* The thread frees itself when it ends; the handle becomes invalid. Where: any thread, context. Never switches; with
 * one hart, a kernel thread that holds none waits for it in the kernel, as long as whoever has it keeps it.
 * Returns 0, or EINVAL when it is detached already or being joined. */
COMITY_API int comity_thread_detach(comity_thread_t *thread);

/* Lets other threads of the same scheduler run on this hart, if there are any that can. Where: any thread, context. May
 * switch. Outside a scheduler of threads, and in a stackless thread, which cannot stop, it does nothing: a loop there
 * must not wait for what a thread of the same hart has to do. */
COMITY_API void comity_thread_yield(void);

/* Leaves the hart to others until `deadline` (comity_now; COMITY_NO_DEADLINE: for ever), or for `ns` nanoseconds; it
 * wakes as soon after as a hart is free. One that has passed, 0 and less: like comity_thread_yield. A cancellation
 * point. Where: any thread (one without a hart sleeps in the kernel), context. May switch. Returns 0; ECANCELED in a
 * thread that was cancelled and unwinds by itself. */
COMITY_API int comity_thread_sleep_until(int64_t deadline);
COMITY_API int comity_thread_sleep_for(int64_t ns);

/* Ends the calling thread with a result, as if its function had returned it, after its cleanup handlers; destructors of
 * C++ objects on its stack do not run. A comity::thread (comity/thread.hpp) has no result: the value is dropped, and
 * its joiner finds no exception. Where: in a thread. Aborts: elsewhere, and in a stackless thread. */
COMITY_API COMITY_NORETURN void comity_thread_exit(void *result);

/* The calling thread, or NULL in code that no Comity thread runs. Where: anywhere. Never switches. */
COMITY_API comity_thread_t *comity_thread_self(void);

/* ---- Many threads, and joins of other kinds. Where not said otherwise: any thread, context; may switch. */

/* Creates n threads; thread i runs fn((char *)args + i * size), so size 0 gives all of them the same. threads: n
 * places, or NULL if the attributes say that they are detached (else EINVAL). Returns 0, or the error of
 * comity_thread_create, at which it stops. *made (NULL: not wanted): how many there are. */
COMITY_API int comity_thread_create_many(comity_thread_t **threads, size_t n, const comity_thread_attr_t *attr,
                                         void *(*fn)(void *), void *args, size_t size, size_t *made);
/* Joins all that are not NULL, the last first. results: n places, or NULL. Returns 0; EINVAL; or one of the errors of
 * comity_thread_join; the others are joined all the same, unless the caller was cancelled. */
COMITY_API int comity_thread_join_many(comity_thread_t *const *threads, size_t n, void **results);
/* Joins if the thread has ended, else returns EBUSY. Never waits. */
COMITY_API int comity_thread_tryjoin(comity_thread_t *thread, void **result);
/* Joins, or returns ETIMEDOUT at the deadline (comity_now). A cancellation point. */
COMITY_API int comity_thread_timedjoin(comity_thread_t *thread, void **result, int64_t deadline);

/* Waits for the end like join, and keeps the thread: it must be joined (which frees it at once) or revived. Of all
 * threads that wait for one at the same time, one succeeds. Returns as comity_thread_join. */
COMITY_API int comity_thread_wait(comity_thread_t *thread, void **result);
/* A thread that has ended and was not joined runs again, with another function and the same attributes, in the caller's
 * scheduler; its name, its keys' values and a request to cancel it are gone. Where: context of a scheduler of threads.
 * May switch (child-first techniques). Returns 0; EINVAL (it has not ended; no function); EPERM (no scheduler of
 * threads); ENOMEM: then the thread is gone. */
COMITY_API int comity_thread_revive(comity_thread_t *thread, void *(*fn)(void *), void *arg);

/* ---- Who runs next, and where */

/* The hart goes on with `thread` at once, and the caller behind others. Where: context of a scheduler of threads.
 * Switches. Returns 0; EBUSY when the thread is not at hand: it runs, waits, or is in another hart's queues; ESRCH when
 * it has ended; EINVAL: another scheduler's; ENOTSUP: the scheduler cannot; EPERM: no scheduler of threads, or a
 * stackless thread. */
COMITY_API int comity_thread_yield_to(comity_thread_t *thread);

/* The caller goes on on the hart with this number, unless one that has nothing to do takes it from there. Where:
 * thread. Switches. Returns 0; EINVAL: there is no such hart, or not in its affinity; EPERM: code that no thread of a
 * scheduler runs, or that is bound to a kernel thread, as a thread is which runs on the stack of a thread of the
 * program's own (main) that joined it before it had started; ENOTSUP: the scheduler cannot. */
COMITY_API int comity_thread_migrate(int hart);
/* Creates a thread that migrates to the hart before it calls fn. COMITY_THREAD_DATA is used. Returns as
 * comity_thread_create; EINVAL also when there is no such hart, and for a stackless thread. */
COMITY_API int comity_thread_create_to(int hart, comity_thread_t **thread, const comity_thread_attr_t *attr,
                                       void *(*fn)(void *), void *arg);

/* From now on only these harts run the calling thread, which goes to one of them if it is elsewhere; n = 0: any may.
 * What it forks (comity/fork.h) any hart runs. Where: thread. May switch. Returns 0; EINVAL: there is no such hart;
 * ENOMEM; EPERM: code that no thread of a scheduler runs; a stackless thread; or one that a thread of the program's own
 * joins and runs on its own stack, which happens to no thread that was created with an affinity. */
COMITY_API int comity_thread_set_affinity(const int *harts, size_t n);
/* Stores the harts that may run the thread, at most `room`, in ascending order, and in *count (NULL: not wanted) how
 * many there are; 0: it has no affinity. harts may be NULL if room is 0: to ask only for their number. Where:
 * any thread; not while the thread changes it. Never switches. Returns 0; EINVAL; ERANGE: there are more than `room`,
 * unless harts is NULL. */
COMITY_API int comity_thread_affinity(const comity_thread_t *thread, int *harts, size_t room, size_t *count);

/* The calling thread stops until somebody resumes it. A cancellation point. Where: thread. Switches. Returns 0; ENOMEM;
 * EPERM in code that no thread runs. Aborts: in a stackless thread. */
COMITY_API int comity_thread_suspend(void);
/* Resumes a thread that is suspended. One that is not, or not yet, is an error, EINVAL, and nothing is remembered:
 * where the resume may come first, try again, or use an event (comity/sync.h). Where: any thread. Never switches. */
COMITY_API int comity_thread_resume(comity_thread_t *thread);

/* ---- Cancellation, deferred: it takes effect when the thread comes to a cancellation point, or waits at one:
 * testcancel, suspend, the sleeps, wait, timedjoin, join and join_many where they have to wait, and those waits of
 * comity/sync.h that are said to be. The thread then runs its cleanup handlers, the newest first, and the destructors
 * of its keys, and its result is COMITY_THREAD_CANCELLED; no other frames are unwound (comity/thread.hpp does). What it
 * waited for is as if it had not: no token was taken, a thread that it joined can be joined by others. A stackless
 * thread is not cancelled. */
#ifdef __cplusplus
#define COMITY_THREAD_CANCELLED (reinterpret_cast<void *>(~static_cast<uintptr_t>(0)))
#else
#define COMITY_THREAD_CANCELLED ((void *)-1)
#endif

/* Where: any thread; the handle must be valid. Never switches; with one hart, a kernel thread that holds none waits for
 * it if the thread stands in a join. Returns 0; ESRCH when the thread has ended or is ending; EINVAL; ENOMEM.
 * Requesting it again changes nothing. */
COMITY_API int comity_thread_cancel(comity_thread_t *thread);
/* Returns 0 if the calling thread need not end; ECANCELED if it has to, and unwinds by itself (attr.unwinds). */
COMITY_API int comity_thread_testcancel(void);
/* Whether the calling thread may be cancelled: 1 at first. A request waits meanwhile. Returns what it was before; -1:
 * no memory. Where: anywhere; without effect outside threads, where the result is 0. Never switches. */
COMITY_API int comity_thread_set_cancel(int enabled);

/* A cleanup handler in memory of the caller's, which must stay until the handler is popped: called when the thread is
 * cancelled or calls comity_thread_exit before. Pushed and popped in pairs, by the same thread. push returns 0, ENOMEM,
 * EINVAL, or EPERM outside threads. pop calls it if `execute` is not 0. Aborts: when another one is the newest. */
typedef struct comity_cleanup {
    struct comity_cleanup *before;
    void (*fn)(void *arg);
    void *arg;
} comity_cleanup_t;
COMITY_API int comity_thread_cleanup_push(comity_cleanup_t *place, void (*fn)(void *), void *arg);
COMITY_API void comity_thread_cleanup_pop(comity_cleanup_t *place, int execute);

/* ---- Keys: a value of each thread's own, also of threads that use the storage of their carrier. When a thread ends,
 * the destructor is called for each value that is not NULL, which is NULL by then; again, up to four rounds, if
 * destructors have set values. Where: any thread; set and get: thread. None of them switches. */
#define COMITY_KEYS_MAX 128
typedef unsigned comity_key_t;
/* Returns 0; EAGAIN when there are COMITY_KEYS_MAX; EINVAL. destructor may be NULL. */
COMITY_API int comity_key_create(comity_key_t *key, void (*destructor)(void *value));
/* The values of all threads are gone, without a call of the destructor. Returns 0 or EINVAL: there is no such key. */
COMITY_API int comity_key_delete(comity_key_t key);
/* Returns 0; EINVAL: no such key; ENOMEM; EPERM outside threads. */
COMITY_API int comity_key_set(comity_key_t key, const void *value);
/* NULL where nothing was set. */
COMITY_API void *comity_key_get(comity_key_t key);

/* ---- What a thread is. Where: any thread; the handle must be valid. None of these switches. */

/* A name for people and gdb; what is longer than COMITY_THREAD_NAME_MAX bytes is cut. Returns 0, EINVAL, ENOMEM. */
#define COMITY_THREAD_NAME_MAX 31
COMITY_API int comity_thread_set_name(comity_thread_t *thread, const char *name);
/* Copies the name, cut to size - 1 bytes; the empty one when it has none. Returns 0 or EINVAL. */
COMITY_API int comity_thread_name(const comity_thread_t *thread, char *buffer, size_t size);
/* Its priority, 0 … 255; another one counts from the next time that the thread stands in line: when it has waited or
 * yields; where it stands now it stays. set_priority returns 0 or EINVAL; priority of
 * NULL is 0. */
COMITY_API int comity_thread_set_priority(comity_thread_t *thread, unsigned char priority);
COMITY_API unsigned char comity_thread_priority(const comity_thread_t *thread);
/* What it was created with, but for its affinity (comity_thread_affinity), and its present priority. Returns 0 or
 * EINVAL. */
COMITY_API int comity_thread_get_attr(const comity_thread_t *thread, comity_thread_attr_t *attr);

typedef enum comity_thread_state {
    COMITY_THREAD_CREATED,   /* it has not started */
    COMITY_THREAD_RUNNING,   /* on a hart */
    COMITY_THREAD_PAUSED,    /* it waits, or is ready to go on */
    COMITY_THREAD_SUSPENDED, /* until comity_thread_resume */
    COMITY_THREAD_ENDED
} comity_thread_state_t;
/* What it does at the moment, for people: but for ENDED it may be over when the function returns. NULL: ENDED.
 */
COMITY_API comity_thread_state_t comity_thread_state(const comity_thread_t *thread);

#ifdef __cplusplus
}
#endif
#endif
