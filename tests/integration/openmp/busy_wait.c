// Threads that wait for each other in a loop of the program's, in regions of more threads than there are harts:
// `busy_wait bare|yield|sleep THREADS`. Ends when all have met; hangs if some never run.
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int yields, sleeps;

typedef struct {
    int size;
    atomic_int arrived, phase;
} meeting;

static void meet(meeting *m) {
    const int now = atomic_load(&m->phase);
    if (atomic_fetch_add(&m->arrived, 1) + 1 == m->size) {
        atomic_store(&m->arrived, 0);
        atomic_fetch_add(&m->phase, 1);
        return;
    }
    while (atomic_load(&m->phase) == now)
        if (yields)
            sched_yield();
        else if (sleeps)
            usleep(100);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        yields = strcmp(argv[1], "yield") == 0;
        sleeps = strcmp(argv[1], "sleep") == 0;
    }
    if (argc != 3 || (!yields && !sleeps && strcmp(argv[1], "bare") != 0)) {
        fprintf(stderr, "usage: busy_wait bare|yield|sleep THREADS\n");
        return 2;
    }
    const int threads = atoi(argv[2]), rounds = yields ? 200 : sleeps ? 50 : 4;
    int flat = 0, nested = 0;
    meeting all = {.size = threads};
#pragma omp parallel num_threads(threads) reduction(+ : flat)
    for (int i = 0; i < rounds; ++i) {
        if (omp_get_num_threads() != threads) exit(3);
        meet(&all);
        ++flat;
    }
    meeting outer = {.size = 2};
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : nested)
    {
        meeting inner = {.size = threads};
        int inside = 0;
#pragma omp parallel num_threads(threads) reduction(+ : inside)
        for (int i = 0; i < rounds; ++i) {
            meet(&inner);
            ++inside;
        }
        nested += inside;
        meet(&outer);
    }
    if (flat != threads * rounds || nested != 2 * threads * rounds) {
        fprintf(stderr, "busy_wait: %d and %d meetings instead of %d and %d\n", flat, nested, threads * rounds,
                2 * threads * rounds);
        return 1;
    }
    return 0;
}
