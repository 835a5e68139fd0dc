/* Threads in the pools of a scheduler: by comity_thread_create_under from one of its own threads, and, prepared before,
 * by comity_thread_launch_under from a kernel thread that Comity did not make. */
#include <comity/scheduler.h>
#include <comity/sync.h>
#include <comity/thread.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static comity_pool_t *urgent, *usual;
static comity_scheduler_t *scheduler;
static comity_event_t launched = COMITY_EVENT_INIT;
static char order[8]; /* one hart: the threads write one after the other */

static void *note(void *name) {
    strcat(order, name);
    return NULL;
}

/* Its argument lies in the thread itself. */
static void *note_data(void *data) { return note(data); }

static void *from_outside(void *thread) {
    const int error = comity_thread_launch_under(thread, scheduler, urgent);
    comity_event_set(&launched);
    return error == 0 ? thread : NULL;
}

static int create(comity_pool_t *pool, char *name, comity_thread_t **thread) {
    return comity_thread_create_under(scheduler, pool, thread, NULL, note, name);
}

int main(void) {
    comity_thread_t *a, *b, *c, *d;
    pthread_t outside;
    void *data, *result;

    if (comity_pool_create(&urgent, COMITY_POOL_MPMC, COMITY_POOL_FIFO) != 0) return EXIT_FAILURE;
    if (comity_pool_create(&usual, COMITY_POOL_MPMC, COMITY_POOL_FIFO) != 0) return EXIT_FAILURE;
    comity_pool_t *const pools[] = {urgent, usual}; /* what the first that is not empty gives comes first */
    const comity_scheduler_attr_t attr = {
        .kind = COMITY_SCHEDULER_POOLS, .pools = pools, .pool_count = 2, .most_harts = 1};
    if (comity_threads_begin_with(&attr) != 0) return EXIT_FAILURE;
    scheduler = comity_scheduler_self();

    if (create(usual, "1", &a) != 0 || create(usual, "2", &b) != 0 || create(urgent, "!", &c) != 0) return EXIT_FAILURE;
    if (comity_thread_join(a, NULL) != 0 || comity_thread_join(b, NULL) != 0 || comity_thread_join(c, NULL) != 0)
        return EXIT_FAILURE;

    if (comity_thread_prepare(&d, NULL, note_data, &data) != 0) return EXIT_FAILURE;
    strcpy(data, "?"); /* of COMITY_THREAD_DATA bytes */
    if (pthread_create(&outside, NULL, from_outside, d) != 0) return EXIT_FAILURE;
    comity_event_wait(&launched); /* not pthread_join, which would keep the hart that the other one needs */
    if (comity_thread_join(d, NULL) != 0 || pthread_join(outside, &result) != 0 || !result) return EXIT_FAILURE;

    comity_threads_end();
    comity_pool_free(urgent);
    comity_pool_free(usual);
    comity_event_fini(&launched);
    printf("%s\n", order);
    return strcmp(order, "!12?") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
