/* A scheduler in a hundred lines: runs `count` jobs on as many harts as the rest of the process leaves it.
 *
 * It shows the whole life of a scheduler: it is registered below the caller, asks for harts, is entered with those that
 * its parent grants, gives each back when no job is left, and is unregistered. Whoever else needs the cores meanwhile
 * gets its share, and nothing here says how many threads to use. */
#include <comity/core.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct fork_join {
    comity_sched_t sched; /* first, so that a callback's `self` is the fork_join */
    void (*job)(void *arg, int index);
    void *arg;
    int count;
    atomic_int next;          /* the first job that nobody has taken */
    atomic_int unfinished;    /* jobs that are not done, and 1 for the caller until it waits */
    comity_context_t *caller; /* written before it waits */
} fork_join;

/* Returns how many jobs it did. */
static int do_jobs(fork_join *self) {
    int done = 0;
    for (int index; (index = atomic_fetch_add(&self->next, 1)) < self->count; ++done) self->job(self->arg, index);
    return done;
}

static void run_worker(void *arg);

/* Transfer: uses the hart for a worker if there is a job, or gives it back. */
static void use_hart(fork_join *self) {
    comity_context_t *context;
    if (atomic_load(&self->next) < self->count && comity_context_init(&context, NULL) == 0)
        comity_context_run(context, run_worker, self);
    comity_sched_yield();
}

static void end_worker(comity_context_t *context, void *arg) {
    comity_context_fini(context);
    use_hart(arg);
}

static void end_last_worker(comity_context_t *context, void *arg) {
    fork_join *self = arg;
    comity_context_fini(context);
    comity_context_resume(self->caller);
}

/* Unregistering waits for this worker's hart, so `self` is there until the end even if all jobs are done. */
static void run_worker(void *arg) {
    fork_join *self = arg;
    const int done = do_jobs(self);
    const int last = done > 0 && atomic_fetch_sub(&self->unfinished, done) == done;
    comity_context_exit(last ? end_last_worker : end_worker, self);
}

/* On the transition context: the caller is off its stack, so that the last worker may continue it. */
static void wait_for_workers(comity_context_t *context, void *arg) {
    fork_join *self = arg;
    self->caller = context;
    if (atomic_fetch_sub(&self->unfinished, 1) == 1) comity_context_resume(context);
    use_hart(self);
}

static void on_enter(comity_sched_t *self) { use_hart((fork_join *)self); }
static void on_block(comity_sched_t *self, comity_context_t *context) {
    (void)context;
    use_hart((fork_join *)self);
}
/* A library that a job calls may register a scheduler of its own. It works with the hart it came with; this
 * example grants it no other, which the rules allow. */
static void on_child(comity_sched_t *self, comity_sched_t *child) { (void)self, (void)child; }
static void on_request(comity_sched_t *self, comity_sched_t *child, int harts) { (void)self, (void)child, (void)harts; }
static void on_yield(comity_sched_t *self, comity_sched_t *child) {
    (void)child;
    use_hart((fork_join *)self);
}
static void on_unblock(comity_sched_t *self, comity_context_t *context) {
    (void)self, (void)context;
    abort(); /* no job here blocks */
}

static const comity_sched_callbacks_t callbacks = {on_child, on_child, on_request, on_enter,
                                                   on_yield, on_block, on_unblock};

static void for_each(int count, void (*job)(void *, int), void *arg) {
    fork_join self = {.job = job, .arg = arg, .count = count, .unfinished = count + 1};
    comity_sched_register(&self.sched, &callbacks);
    if (count > 1) comity_sched_request(count - 1);
    atomic_fetch_sub(&self.unfinished, do_jobs(&self));
    comity_context_pause(wait_for_workers, &self);
    comity_sched_unregister();
}

/* ---- A use of it: how many primes are below a million? */

enum { limit = 1000000, slices = 100 };

static void count_primes(void *arg, int slice) {
    atomic_int *total = arg;
    int found = 0;
    for (int n = limit / slices * slice; n < limit / slices * (slice + 1); ++n) {
        int divisor = 2;
        while (divisor * divisor <= n && n % divisor) ++divisor;
        found += n > 1 && divisor * divisor > n;
    }
    atomic_fetch_add(total, found);
}

int main(void) {
    atomic_int total = 0;
    for_each(slices, count_primes, &total);
    printf("%d primes below %d, counted on %d harts\n", atomic_load(&total), limit, comity_hart_count());
    return atomic_load(&total) == 78498 ? 0 : 1;
}
