/* A scheduler of the user's own: the thread with the earliest deadline runs first. Threads carry their deadline as a
 * priority here, so that the example stays short: 255 minus the deadline in milliseconds. */
#include <comity/scheduler.h>
#include <comity/thread.h>

#include <stdio.h>
#include <stdlib.h>

enum { threads = 8, room = 256 };

/* A sorted array: the unit with the highest priority is the last. */
struct sorted {
    comity_unit_t *units[room];
    int count;
};

static int push(void *state, comity_unit_t *unit, comity_occasion_t why) {
    struct sorted *s = state;
    int at = s->count;
    (void)why;
    if (s->count == room) return 1; /* Comity keeps it itself */
    for (; at > 0 && comity_unit_priority(s->units[at - 1]) >= comity_unit_priority(unit); --at)
        s->units[at] = s->units[at - 1];
    s->units[at] = unit;
    ++s->count;
    return 0;
}

static comity_unit_t *pick(void *state) {
    struct sorted *s = state;
    return s->count ? s->units[--s->count] : NULL;
}

static int has_work(void *state) { return ((struct sorted *)state)->count != 0; }

static void *work(void *deadline) {
    printf("due in %ld ms\n", (long)deadline);
    return NULL;
}

int main(void) {
    static struct sorted order;
    const comity_scheduler_functions_t functions = {.push = push, .pick = pick, .has_work = has_work};
    const comity_scheduler_attr_t earliest_first = {
        .kind = COMITY_SCHEDULER_USER, .functions = &functions, .arg = &order, .most_harts = 1};
    comity_thread_t *all[threads];

    if (comity_threads_begin_with(&earliest_first) != 0) return EXIT_FAILURE;
    for (long i = 0; i < threads; ++i) {
        const long deadline = i * 37 % 100;
        const comity_thread_attr_t attr = {.priority = (unsigned char)(255 - deadline)};
        if (comity_thread_create(&all[i], &attr, work, (void *)deadline) != 0) return EXIT_FAILURE;
    }
    for (int i = 0; i < threads; ++i)
        if (comity_thread_join(all[i], NULL) != 0) return EXIT_FAILURE;
    comity_threads_end();
    return EXIT_SUCCESS;
}
