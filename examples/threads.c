/* Threads, a barrier and an event from C. */
#include <comity/sync.h>
#include <comity/thread.h>

#include <stdio.h>

enum { workers = 4, rounds = 3 };

static comity_barrier_t barrier;
static comity_event_t go = COMITY_EVENT_INIT;
static int steps[workers];

static void *work(void *arg) {
    const int me = (int)(long)arg;
    comity_event_wait(&go); /* stops the thread, not the hart */
    for (int round = 0; round < rounds; ++round) {
        ++steps[me];
        if (comity_barrier_wait(&barrier)) printf("all %d have done step %d\n", workers, round + 1);
    }
    return arg;
}

int main(void) {
    comity_thread_t *threads[workers];
    int right = 1;

    if (comity_threads_begin() != 0 || comity_barrier_init(&barrier, workers) != 0) return 1;
    for (long i = 0; i < workers; ++i) {
        /* The second half blocks in nearly every step: a full context from the start suits it. */
        const comity_thread_attr_t attr = {i < workers / 2 ? COMITY_TECHNIQUE_ROC_L : COMITY_TECHNIQUE_FULL, 0, 0, 0};
        if (comity_thread_create(&threads[i], &attr, work, (void *)i) != 0) return 1;
    }
    comity_event_set(&go);
    for (long i = 0; i < workers; ++i) {
        void *result;
        right &= comity_thread_join(threads[i], &result) == 0 && result == (void *)i && steps[i] == rounds;
    }
    comity_barrier_fini(&barrier);
    comity_event_fini(&go);
    comity_threads_end();
    return right ? 0 : 1;
}
