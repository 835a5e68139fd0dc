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
 * and
 * "-E" have a stack from start to end only, the others from creation to join. All but stackless can wait anywhere. */
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
                                     * default        stack size and no storage of its own, else as SS-L */
    COMITY_TECHNIQUE_STACKLESS = 8, /* a function call: it cannot wait, and aborts if it would have to (3.3.1) */
    COMITY_TECHNIQUE_C_FULL = 9,    /* child-first (3.3.4, 3.5) */
    COMITY_TECHNIQUE_C_FULL_E = 10,
    COMITY_TECHNIQUE_C_ROC = 11,
    COMITY_TECHNIQUE_C_ROC_E = 12, /* the best when few threads wait or are stolen */
    /* RoC-L, and whether a joiner runs a thread itself goes by how often such threads were stopped of late: the best, or
     * close to it, whatever share of the threads waits (section 3.8 leaves this choice to the future). */
    COMITY_TECHNIQUE_AUTOMATIC = 13
} comity_technique_t;

typedef struct comity_thread_attr {
    comity_technique_t technique;
    size_t stack_size; /* bytes; 0: the default (COMITY_STACK_SIZE); rounded up to pages, with own_tls to 16 KiB at
                        * least. At most 2048 makes a small stack, without a guard: docs/threads.md, "Memory" */
    int own_tls;  /* 1: thread-local storage of its own, kept wherever it runs (errno, __thread, pthread_self). 0: that
                   * of its carrier  of the moment, which is another one after anything that may switch; C++ exceptions
                   * are kept all the same. */
    int detached; /* 1: nobody joins it; its resources are freed when it ends */
    unsigned char priority; /* 0 … 255, the higher, the sooner, under a scheduler that goes by it */
} comity_thread_attr_t;

/* The bytes for data in a thread's descriptor (comity_thread_prepare). */
#define COMITY_THREAD_DATA 64

/* Opens a work-stealing scheduler below the caller's, for the threads that the caller and its threads will create.
 * Without it the first comity_thread_create opens one, and the first join by its creator after which no thread lives
 * ends it: convenient, but slow in a loop. Where: any thread, context. May switch (a thread that Comity did not make
 * waits for a hart). Returns 0 or ENOMEM. */
COMITY_API int comity_threads_begin(void);

/* Waits until every thread under the scheduler has ended, detached ones too, and ends it.
 * Where: the context that called comity_threads_begin. May switch. Aborts: elsewhere. */
COMITY_API void comity_threads_end(void);

/* Creates a thread that runs fn(arg). attr may be NULL. Parent-first: the caller goes on, the thread starts when a hart
 * comes to it. What fn returns is the thread's result. `thread` may be NULL for a detached thread. Where: any thread,
 * context. May switch (only when it opens a scheduler). Returns 0; EINVAL (technique, stack size, no place for a
 * joinable thread); ENOMEM; EAGAIN (no thread-local storage to be had). */
COMITY_API int comity_thread_create(comity_thread_t **thread, const comity_thread_attr_t *attr, void *(*fn)(void *),
                                    void *arg);

/* The same in two steps: prepare makes a thread whose fn will get `*data`, COMITY_THREAD_DATA bytes in the thread's
 * descriptor aligned to 16, which live until it is joined (detached: until it ends); launch makes it ready to run,
 * once. Between the two the caller may not switch. Where: context of a scheduler of threads, any thread. May switch.
 * Errors: as above, from prepare; launch: ENOMEM, then the thread is gone. */
COMITY_API int comity_thread_prepare(comity_thread_t **thread, const comity_thread_attr_t *attr, void *(*fn)(void *),
                                     void **data);
COMITY_API int comity_thread_launch(comity_thread_t *thread);

/* Waits for the thread's end, stores its result (NULL: not wanted) and frees it. A thread that has not started runs at
 * once, if the caller's hart has it at hand. Where: any thread, context. May switch. Returns 0; EINVAL when the thread
 * is detached or joined by another at this moment; EDEADLK when it is the caller. */
COMITY_API int comity_thread_join(comity_thread_t *thread, void **result);

/* The thread frees itself when it ends; the handle becomes invalid. Where: any thread, context. Never switches.
 * Returns 0, or EINVAL when it is detached already or being joined. */
COMITY_API int comity_thread_detach(comity_thread_t *thread);

/* Lets other threads of the same scheduler run on this hart, if there are any that can. Where: any thread, context. May
 * switch. Outside a scheduler of threads it does nothing. */
COMITY_API void comity_thread_yield(void);

/* Leaves the hart to others until `deadline` (comity_now; COMITY_NO_DEADLINE: for ever), or for `ns` nanoseconds; it wakes
 * as soon after as a hart is free. One that has passed, 0 and less: like comity_thread_yield. Where: any thread (one
 * without a hart sleeps in the kernel), context. May switch. */
COMITY_API void comity_thread_sleep_until(int64_t deadline);
COMITY_API void comity_thread_sleep_for(int64_t ns);

/* Ends the calling thread with a result, as if its function had returned it; destructors of C++ objects on its stack do
 * not run. Where: in a thread. Aborts: elsewhere. */
COMITY_API COMITY_NORETURN void comity_thread_exit(void *result);

/* The calling thread, or NULL in code that no Comity thread runs. Where: anywhere. Never switches. */
COMITY_API comity_thread_t *comity_thread_self(void);

#ifdef __cplusplus
}
#endif
#endif
