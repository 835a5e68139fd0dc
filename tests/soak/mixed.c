// What programs do beside each other, by chance: POSIX threads that compute, sleep, and take a lock as Python takes its
// own; and regions of theirs, nested, whose ranks do the same, wait for each other in loops, and create threads and
// tasks. Whatever the settings, it ends, and everything was done once.
// ./mixed SEED THREADS [STATUS]
#include "../integration/openmp/check.h"
#include "../integration/openmp/python_lock.h"
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long done, expected;

static unsigned next(unsigned *seed) {
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static int holders;

static void compute_with_lock_us(long us) {
    take();
    ++holders;
    CHECK_EQUAL(holders, 1);
    compute_us(us);
    --holders;
    drop();
}

static void *run_brief_thread(void *us) {
    compute_with_lock_us((long)us);
    ++done;
    return NULL;
}

static void create_and_join(unsigned *seed) {
    pthread_t t;
    if (pthread_create(&t, NULL, run_brief_thread, (void *)(long)(next(seed) % 200)) != 0) abort();
    ++expected;
    pthread_join(t, NULL);
}

static void make_tasks(void) {
    enum { tasks = 20 };
    expected += tasks;
    for (int i = 0; i < tasks; i++) {
#pragma omp task
        {
            compute_us(10);
            if (i % 5 == 0) compute_with_lock_us(0);
            ++done;
        }
    }
}

enum deed { computes, locks, meets_yielding, meets_spinning, sleeps, nests, creates, tasks, waits, deeds };

static void open_region(unsigned *seed, int depth) {
    const unsigned ranks = 1 + next(seed) % 4, base = next(seed);
    const enum deed deed = next(seed) % deeds;
    atomic_int met = 0, opened = 0;
#pragma omp parallel num_threads(ranks) shared(met, opened)
    {
        unsigned own = base + omp_get_thread_num() * 7919U;
        const int here = omp_get_num_threads();
        if (omp_get_thread_num() == 0) expected += here;
        switch (deed) {
        case computes:
            compute_us(next(&own) % 400);
            break;
        case locks:
            compute_with_lock_us(next(&own) % 100);
            break;
        case meets_yielding:
            for (++met; met < here;) sched_yield();
            break;
        case meets_spinning:
            for (++met; met < here;)
                ;
            break;
        case sleeps:
            usleep(next(&own) % 500);
            break;
        case nests:
            if (depth < 2) open_region(&own, depth + 1);
            break;
        case creates:
            if (omp_get_thread_num() == 0) create_and_join(&own);
            compute_us(50);
            break;
        case tasks:
#pragma omp single
            make_tasks();
            break;
        default:
            compute_with_lock_us(next(&own) % 50);
#pragma omp barrier
            compute_us(next(&own) % 200);
#pragma omp barrier
            break;
        }
        ++opened;
    }
    done += opened;
}

static void *run(void *argument) {
    unsigned seed = (unsigned)(long)argument;
    omp_set_max_active_levels(3);
    for (int i = 0; i < 60; i++) {
        switch (next(&seed) % 5) {
        case 0: // for longer than a time slice now and then
            compute_with_lock_us(next(&seed) % (i % 10 == 0 ? 30000 : 1500));
            break;
        case 1:
            compute_us(next(&seed) % 2000);
            break;
        case 2:
            usleep(next(&seed) % 1000);
            break;
        default:
            open_region(&seed, 0);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    enum { most = 16 };
    witness_comity();
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    const int threads = argc > 2 ? atoi(argv[2]) : 4;
    if (threads < 0 || threads > most) return 2;
    omp_set_max_active_levels(3);
    pthread_t all[most];
    for (long i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, run, (void *)(seed * 100L + i)) != 0) return 2;
    for (int i = 0; i < 10; i++) open_region(&seed, 0);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    CHECK_EQUAL(done, expected);
    return report() ? 1 : argc > 3 ? atoi(argv[3]) : 0;
}
