/* Pools: units of three priorities come out of a pool by priority; and a pool with an order of the program's own. */
#include <comity/pool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of work: the unit lies within it. */
struct work {
    comity_unit_storage_t storage;
    comity_unit_t *unit;
    const char *name;
    char *log; /* where it writes its name */
};

static void run(void *arg) {
    struct work *w = arg;
    strcat(w->log, w->name);
}

static void prepare(struct work *w, const char *name, unsigned char priority, char *log) {
    w->name = name;
    w->log = log;
    w->unit = comity_unit_init(&w->storage, run, w);
    comity_unit_set_priority(w->unit, priority);
}

static void run_all(comity_pool_t *pool) {
    comity_unit_t *unit;
    while (comity_pool_pop(pool, &unit) == 0) comity_unit_run(unit);
}

/* An order of the program's own: every other unit comes from the other end of a small ring. */
struct ring {
    comity_unit_t *units[8];
    unsigned first, count, turns;
};
static int ring_push(void *state, comity_unit_t *unit) {
    struct ring *r = state;
    if (r->count == 8) return -1; /* any number but 0: what comity_pool_push returns */
    r->units[(r->first + r->count++) % 8] = unit;
    return 0;
}
static comity_unit_t *ring_pop(void *state) {
    struct ring *r = state;
    if (r->count == 0) return NULL;
    --r->count;
    return r->turns++ % 2 ? r->units[(r->first + r->count) % 8] : r->units[r->first++ % 8];
}
static size_t ring_size(void *state) { return ((struct ring *)state)->count; }

int main(void) {
    char log[64] = "";
    struct work work[4];
    prepare(&work[0], "a", 1, log);
    prepare(&work[1], "b", 200, log);
    prepare(&work[2], "c", 1, log);
    prepare(&work[3], "d", 200, log);

    comity_pool_t *pool;
    if (comity_pool_create(&pool, COMITY_POOL_MPMC, COMITY_POOL_PRIORITY) != 0) return EXIT_FAILURE;
    for (int i = 0; i < 4; ++i)
        if (comity_pool_push(pool, work[i].unit) != 0) return EXIT_FAILURE;
    comity_pool_print(pool, stdout);
    run_all(pool);
    comity_pool_free(pool);

    const comity_pool_functions_t functions = {.push = ring_push, .pop = ring_pop, .size = ring_size};
    struct ring ring = {.first = 0};
    strcat(log, " ");
    if (comity_pool_create_user(&pool, COMITY_POOL_PRIVATE, &functions, &ring) != 0) return EXIT_FAILURE;
    for (int i = 0; i < 4; ++i) comity_pool_push(pool, work[i].unit);
    run_all(pool);
    comity_pool_free(pool);

    puts(log);
    return strcmp(log, "bdac adbc") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
