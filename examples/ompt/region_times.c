/* A tool of OMPT: where a program opens parallel regions, how often, and how long they take. */
#include <omp-tools.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A place in the program; regions' data points to it. Places are few: a list without a lock, which only grows. */
struct site {
    const void *caller;
    struct site *next;
    unsigned long long regions, threads, nanoseconds; /* atomic */
};
static struct site *first;

/* What a region needs between its two callbacks. */
struct region {
    struct site *at;
    unsigned long long begin;
};

static unsigned long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static struct site *site_of(const void *caller) {
    for (struct site *s = __atomic_load_n(&first, __ATOMIC_ACQUIRE); s; s = s->next)
        if (s->caller == caller) return s;
    struct site *made = calloc(1, sizeof *made);
    if (!made) abort();
    made->caller = caller; /* perhaps another thread's too, at the same moment: then it is printed twice */
    made->next = __atomic_load_n(&first, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&first, &made->next, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    return made;
}

static void begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned int requested,
                  int flags, const void *caller) {
    (void)task, (void)frame, (void)requested, (void)flags;
    struct region *r = malloc(sizeof *r);
    if (!r) abort();
    r->at = site_of(caller);
    r->begin = now();
    parallel->ptr = r;
}

static void end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *caller) {
    (void)task, (void)flags, (void)caller;
    struct region *r = parallel->ptr;
    __atomic_fetch_add(&r->at->regions, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&r->at->nanoseconds, now() - r->begin, __ATOMIC_RELAXED);
    free(r);
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                          unsigned int parallelism, unsigned int index, int flags) {
    (void)task, (void)parallelism, (void)index;
    if (endpoint != ompt_scope_begin || !(flags & ompt_task_implicit)) return;
    struct region *r = parallel->ptr;
    __atomic_fetch_add(&r->at->threads, 1, __ATOMIC_RELAXED);
}

static int initialize(ompt_function_lookup_t lookup, int initial_device, ompt_data_t *tool) {
    (void)initial_device, (void)tool;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    return set && set(ompt_callback_parallel_begin, (ompt_callback_t)begin) == ompt_set_always &&
           set(ompt_callback_parallel_end, (ompt_callback_t)end) == ompt_set_always &&
           set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task) == ompt_set_always;
}

static void finalize(ompt_data_t *tool) {
    (void)tool;
    fprintf(stderr, "%18s %10s %8s %14s\n", "opened before", "regions", "threads", "us a region");
    for (struct site *s = first; s; s = s->next)
        if (s->regions)
            fprintf(stderr, "%18p %10llu %8.1f %14.2f\n", s->caller, s->regions,
                    (double)s->threads / (double)s->regions, (double)s->nanoseconds / 1000.0 / (double)s->regions);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime) {
    static ompt_start_tool_result_t tool = {initialize, finalize, {0}};
    fprintf(stderr, "region_times: OpenMP %u, %s\n", version, runtime);
    return &tool;
}
