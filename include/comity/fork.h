/* The fork-join pair: two functions that may run at the same time, at little more than the cost of calling them.
 *
 * It is the cheapest way to divide work recursively: no thread is made unless another hart takes the second function
 * (after the fork-join of Cilk and its successors; Iwasaki, section 3.5, has its place among the threads). Both
 * functions may wait, yield, create threads and fork again, and neither may leave by comity_thread_exit. None of what
 * follows may be called in a signal handler or a scheduler callback. */
#ifndef COMITY_FORK_H
#define COMITY_FORK_H

#include "comity/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Without the detour over the table of procedure linkage: two jumps of some 120 instructions. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define COMITY_FORK_API COMITY_API __attribute__((noplt))
#endif
#endif
#ifndef COMITY_FORK_API
#define COMITY_FORK_API COMITY_API
#endif

/* Calls f(a) and g(b), neither of them NULL, possibly at the same time, and returns when both have returned. f runs in
 * the caller; g in the caller too, after f, or on another hart, where it is nobody's thread (comity_thread_self gives
 * NULL). Where: any thread, context; outside a scheduler of threads it opens one meanwhile (comity_threads_begin), in a
 * stackless thread it calls one after the other, and when memory for the queue is gone too. May switch. */
COMITY_API void comity_fork_join(void (*f)(void *), void *a, void (*g)(void *), void *b);

/* The same in two steps, so that a compiler may inline what stands between them:
 *
 *     comity_fork_t fork;
 *     comity_fork_begin(&fork, g, b);
 *     f(a);
 *     if (comity_fork_end(&fork)) g(b);
 */
typedef struct comity_fork {
    COMITY_ALIGN(8) unsigned char opaque_[64];
} comity_fork_t;

/* Offers g(b) to other harts. comity_fork_end must follow in the same context, forks within forks in reverse order.
 * Without it the other half stands on a stack that is gone, which crashes: each thread's end would pay for a check.
 * Where: as comity_fork_join. May switch only where it opens a scheduler. */
COMITY_FORK_API void comity_fork_begin(comity_fork_t *fork, void (*g)(void *), void *b);
/* Returns 1 when nobody has taken g, and nobody will: the caller should call it; 0 when g has returned, on another hart
 * or, where comity_fork_begin opened a scheduler, in here. Where: the context that called comity_fork_begin. May
 * switch. */
COMITY_FORK_API int comity_fork_end(comity_fork_t *fork);

#ifdef __cplusplus
}
#endif
#endif
