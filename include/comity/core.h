/* Comity core: harts, contexts and the tree of cooperative schedulers.
 *
 * After Pan, "Cooperative Hierarchical Resource Management for Efficient Composition of Parallel
 * Software" (2010), chapters 4 (callbacks, table 4.1) and 5 (runtime functions, table 5.1).
 *
 * Vocabulary: docs/glossary.md. Three words matter here:
 *   hart     the right to run on one core; there are never more than comity_hart_count().
 *   context  a computation that can be stopped and resumed: registers, a stack, a scheduler.
 *   transition context   every carrier of a hart has one. Transfer callbacks and the function given to
 *            comity_context_pause() run on it, on a stack that is rewound each time, and never return.
 *
 * "Where" in the comments below says from where a function may be called:
 *   any thread   also a thread that Comity did not make; it is adopted when it needs a hart.
 *   context      a computation that holds a hart, not a transition context.
 *   transition   a transfer callback or a pause function.
 * A broken contract prints one line that names the call, and aborts. */
#ifndef COMITY_CORE_H
#define COMITY_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define COMITY_API __attribute__((visibility("default")))
#define COMITY_NORETURN __attribute__((noreturn))
#else
#define COMITY_API
#define COMITY_NORETURN
#endif
#if defined(__cplusplus)
#define COMITY_ALIGN(n) alignas(n)
#elif defined(__GNUC__) /* C99 has no _Alignas */
#define COMITY_ALIGN(n) __attribute__((aligned(n)))
#else
#define COMITY_ALIGN(n) _Alignas(n)
#endif

typedef struct comity_sched comity_sched_t;
typedef struct comity_context comity_context_t;

/* A scheduler's seven callbacks (table 4.1). A transfer callback is given the hart: it runs on the transition
 * context and must end in one of comity_context_run, comity_context_resume, comity_sched_enter or
 * comity_sched_yield; if it returns, the process aborts and says which callback did. An update callback
 * borrows the caller's hart and returns soon; it may run on several harts at once.
 * Neither waits, but for locks: pthread_mutex_t, pthread_rwlock_t and what C++ has of these, comity_mutex_t and
 * comity_recursive_mutex_t are waited for in place, wherever the callback runs. Whoever else holds such a lock must not
 * wait or stop before it is unlocked. Any other wait ends the program, with a line that names the call and the
 * callback. */
typedef struct comity_sched_callbacks {
    /* update: `child` was registered below this scheduler by a context that it manages. */
    void (*register_child)(comity_sched_t *self, comity_sched_t *child);
    /* update: `child` has given back every hart and is gone when this returns. */
    void (*unregister_child)(comity_sched_t *self, comity_sched_t *child);
    /* update: `child` could use `harts` more harts. The parent may grant late, in part, or never. */
    void (*request)(comity_sched_t *self, comity_sched_t *child, int harts);
    /* transfer: the parent grants a hart. */
    void (*enter)(comity_sched_t *self);
    /* transfer: `child` gives a hart back. It may have ended meanwhile: the pointer is only a name. */
    void (*yield)(comity_sched_t *self, comity_sched_t *child);
    /* transfer: `context` has been paused until comity_context_unblock; the hart is free. */
    void (*block)(comity_sched_t *self, comity_context_t *context);
    /* update: `context` may run again. Only mark it; do not run it here. */
    void (*unblock)(comity_sched_t *self, comity_context_t *context);
} comity_sched_callbacks_t;

/* Storage for a scheduler. Embed it in your own object (first member) or keep it beside it; it must stay in place from
 * comity_sched_register to the return of comity_sched_unregister. */
struct comity_sched {
    COMITY_ALIGN(64) uint64_t opaque_[16];
};

/* ---- Harts --------------------------------------------------------------------------------------------------- */

/* How many harts the process has: min(affinity mask, cgroup quota), or COMITY_HARTS. Starts Comity on first use.
 * Where: any thread. Never switches. Range: 1..1024. */
COMITY_API int comity_hart_count(void);

/* The hart that carries the caller, 0..comity_hart_count()-1, or -1 on a thread that holds none.
 * Where: anywhere. Never switches. The answer is stale after anything that may switch. */
COMITY_API int comity_hart_id(void);

/* Where a hart or a CPU is: the number of the CPU (the kernel's), and of the core, caches, NUMA node and socket, each
 * numbered from 0 in the machine's order, over what the process may use. -1: a hart that may run in several of them.
 * Where the machine has no such part, all is part 0. */
typedef struct comity_location {
    int cpu;
    int core;       /* with its hardware threads */
    int l2_cache;   /* the second level */
    int last_cache; /* the last level, mostly the third */
    int numa_node;
    int socket;
} comity_location_t;

/* Binds a hart to `n` CPUs, numbers of the kernel's; n = 0: to none, it may run wherever the process may. Its worker
 * and the calling thread follow at once, a thread of the program's that carries it at this moment does so with its next
 * hart. Schedulers opened from then on steal near the hart first (docs/binding.md). COMITY_BIND binds all harts when
 * Comity starts.
 * Where: any thread, context; needs 64 KiB of stack. Never switches. Returns 0; EINVAL: no such hart, or the process
 * may not use a CPU; ENOMEM. */
COMITY_API int comity_hart_bind(int hart, const int *cpus, size_t n);

/* Stores the CPUs on which the hart may run, at most `room` of them, in ascending order, and in `count` (NULL: not
 * wanted) how many there are: those that it is bound to, or all that the process may use. cpus may be NULL if room is
 * 0: to ask only for their number. Where: any thread. Never switches. Returns 0; EINVAL: no such hart, or no place;
 * ERANGE: there are more than `room`, unless cpus is NULL. */
COMITY_API int comity_hart_cpus(int hart, int *cpus, size_t room, size_t *count);

/* Where the hart is: what all its CPUs have in common. Where: any thread, context; needs 64 KiB of stack when it is the
 * first to ask for the topology. Never switches. Returns 0 or EINVAL. */
COMITY_API int comity_hart_location(int hart, comity_location_t *location);

/* The same for a CPU. EINVAL also when the process may not use it. */
COMITY_API int comity_cpu_location(int cpu, comity_location_t *location);

/* ---- Time ------------------------------------------------------------------------------------------------------ */

/* Deadlines are in nanoseconds of CLOCK_MONOTONIC; any value is one: what has passed has passed, and COMITY_NO_DEADLINE
 * never comes. */
#define COMITY_NO_DEADLINE INT64_MAX
/* Now, and in `ns` nanoseconds (less than 0 counts as 0; COMITY_NO_DEADLINE when the sum is too large).
 * Where: anywhere, signal handlers too. Never switch. */
COMITY_API int64_t comity_now(void);
COMITY_API int64_t comity_deadline_in(int64_t ns);

/* ---- Schedulers (table 5.1, §5.1.1) --------------------------------------------------------------------------- */

/* Makes `sched` the child of the current scheduler and gives it the caller's hart; the calling context belongs to
 * `sched` until comity_sched_unregister. A thread that Comity did not make is adopted: it waits until a hart is free.
 * Where: any thread, context. May switch. Aborts: on a transition context; when `sched` is registered already;
 * when a callback is missing (register_child and unregister_child may be NULL). */
COMITY_API void comity_sched_register(comity_sched_t *sched, const comity_sched_callbacks_t *callbacks);

/* Ends the current scheduler: waits until every other hart has been yielded, then makes its parent current again.
 * Where: the context that registered it, on any hart. May switch. Aborts: when the caller's scheduler was not
 * registered by this context (which is also what unregistering twice looks like). */
COMITY_API void comity_sched_unregister(void);

/* Tells the parent that the current scheduler could use `harts` more (>= 1; more than there are is cut).
 * Where: context, transition or update callback of the scheduler. Never switches. Aborts: when `harts` is less than 1;
 * at the base scheduler, which has no parent. */
COMITY_API void comity_sched_request(int harts);

/* The same for a scheduler that need not be current, such as from an unblock callback on somebody else's hart. `sched`
 * must be registered and stay so during the call. Where: any thread. Never switches. Aborts: as comity_sched_request.
 */
COMITY_API void comity_sched_request_for(comity_sched_t *sched, int harts);

/* Grants the current hart to `child`, a child of the current scheduler: `child`'s enter callback runs next.
 * The child must be known not to unregister meanwhile: reserve it first with comity_sched_reserve.
 * Where: transition. Aborts: when `child` is not a child of the current scheduler or was not reserved. */
COMITY_API COMITY_NORETURN void comity_sched_enter(comity_sched_t *child);

/* Takes one of the harts that `child` requested for it: afterwards its unregister waits for the enter that must follow,
 * on any hart of its parent. Returns 1, or 0 when the child wants none (any more). Call it under the lock that guards
 * the parent's list of children, since the child may unregister at any other time. Where: any thread. Never switches.
 */
COMITY_API int comity_sched_reserve(comity_sched_t *child);

/* Gives the current hart back to the parent: its yield callback runs next.
 * Where: transition. Aborts: at the base scheduler, which has no parent. */
COMITY_API COMITY_NORETURN void comity_sched_yield(void);

/* The current scheduler, or NULL when the caller runs under none. Where: anywhere. Never switches. */
COMITY_API comity_sched_t *comity_sched_current(void);

/* ---- Contexts (table 5.1, §5.1.2) ------------------------------------------------------------------------------ */

typedef struct comity_context_attr {
    size_t stack_size; /* bytes; 0: the default (COMITY_STACK_SIZE); rounded up to pages, full contexts' to 16 KiB at
                        * least. At most 2048 makes a small stack: docs/threads.md, "Memory". */
    int full;          /* 1: with its own thread-local storage; 0: bare, uses its carrier's */
} comity_context_attr_t;

/* Makes a context. attr may be NULL (bare, default stack). Returns 0, ENOMEM (no memory for its stack), EAGAIN (no
 * thread-local storage to be had) or EINVAL. Where: any thread. May block in the kernel for a short time; never
 * switches. */
COMITY_API int comity_context_init(comity_context_t **context, const comity_context_attr_t *attr);

/* Frees a context that was never run, has exited, or stays paused for ever. Where: any thread, transition. Never
 * switches. Aborts: when it is running, or is that of a thread that Comity did not make. */
COMITY_API void comity_context_fini(comity_context_t *context);

/* Starts `fn(arg)` on a fresh or exited context, which then belongs to the current scheduler. `fn` must not return: it
 * ends with comity_context_exit. Where: transition. Aborts: when the context is in use: neither fresh nor exited. */
COMITY_API COMITY_NORETURN void comity_context_run(comity_context_t *context, void (*fn)(void *arg), void *arg);

/* Stops the calling context and runs `fn(context, arg)` on the transition context, when the context is already off its
 * stack and may be resumed elsewhere at once. Returns when somebody resumes the context. Where: context. Switches. */
COMITY_API void comity_context_pause(void (*fn)(comity_context_t *self, void *arg), void *arg);

/* Like pause, but the context ends: it can be run again or freed by `fn`. Where: context. Aborts: on that of a thread
 * that Comity did not make. */
COMITY_API COMITY_NORETURN void comity_context_exit(void (*fn)(comity_context_t *self, void *arg), void *arg);

/* Goes on with a paused context on the current hart. A context of an adopted thread runs only on that thread: if this
 * is another carrier, the hart stays with the caller's scheduler, whose block callback runs, and the thread takes the
 * context up itself. Where: transition. Aborts: when the context is running. */
COMITY_API COMITY_NORETURN void comity_context_resume(comity_context_t *context);

/* Tells the current scheduler that `context`, paused just now, waits for comity_context_unblock: its block callback
 * runs. Where: transition, in a pause function. */
COMITY_API COMITY_NORETURN void comity_context_block(comity_context_t *context);

/* Marks a blocked context as ready with its own scheduler. To be called once for each block. Where: any thread. Never
 * switches. */
COMITY_API void comity_context_unblock(comity_context_t *context);

/* The calling context, or NULL on a thread that was never adopted. Where: anywhere. Never switches. */
COMITY_API comity_context_t *comity_context_self(void);

/* Context-local state: one pointer for the scheduler that owns the context. Where: anywhere. Never switch. */
COMITY_API void comity_context_set_local(comity_context_t *context, void *local);
COMITY_API void *comity_context_local(const comity_context_t *context);

#ifdef __cplusplus
}
#endif
#endif
