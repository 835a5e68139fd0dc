/* Threads that work in steps, and of whom one leaves after each; a semaphore that lets two at a time do something; a
 * latch for the end. */
#include <comity/sync.h>
#include <comity/thread.h>

#include <stdatomic.h>
#include <stdio.h>

enum { members = 6 };

static comity_barrier_t step;
static comity_semaphore_t places;
static comity_latch_t all_done;
static comity_once_t greeting = COMITY_ONCE_INIT;
static atomic_int inside, steps, crowded;

static void greet(void *arg) { puts(arg); }

static void *work(void *arg) {
    const int me = (int)(intptr_t)arg;
    comity_once(&greeting, greet, "the first one says this");
    for (int n = 0; n < me; ++n) {
        comity_semaphore_wait(&places);
        if (atomic_fetch_add(&inside, 1) >= 2) atomic_fetch_add(&crowded, 1);
        comity_thread_yield();
        atomic_fetch_sub(&inside, 1);
        comity_semaphore_post(&places);
        if (comity_barrier_wait(&step)) atomic_fetch_add(&steps, 1); /* in one of them */
    }
    comity_barrier_drop(&step); /* the others no longer wait for this one */
    comity_latch_count_down(&all_done, 1);
    return NULL;
}

int main(void) {
    const comity_thread_attr_t attr = {.detached = 1};
    if (comity_threads_begin() != 0 || comity_barrier_init(&step, members) != 0 ||
        comity_semaphore_init(&places, 2) != 0)
        return 1;
    comity_latch_init(&all_done, members);
    for (int i = 1; i <= members; ++i)
        if (comity_thread_create(NULL, &attr, work, (void *)(intptr_t)i) != 0) return 1;
    if (comity_latch_timedwait(&all_done, comity_deadline_in(30 * INT64_C(1000000000))) != 0) return 1;
    comity_threads_end();
    comity_latch_fini(&all_done);
    comity_semaphore_fini(&places);
    comity_barrier_fini(&step);
    printf("%d steps, never more than two inside: %s\n", atomic_load(&steps), crowded ? "no" : "yes");
    return crowded != 0;
}
