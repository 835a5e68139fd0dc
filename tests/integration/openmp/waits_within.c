// Rank 0 of a region opens another one, whose ranks wait for each other in loops of their own, as the other ranks of
// the outer one wait for its end. Each has a hart, if those are asked for: first_thread|thread OUTER_RANKS INNER_RANKS.
// Where the harts' kernel threads come late, the watch helps, after a second: not more often than seldom.
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <omp.h>

enum { regions = 20 };
static int outer, inner, helped = 0;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *open_regions(void *nothing) {
    omp_set_max_active_levels(2);
    for (int i = 0; i < regions; ++i) {
        usleep(2000); // the harts sleep, or nearly
        atomic_int done = 0, met = 0;
        const double begin = now();
#pragma omp parallel num_threads(outer)
        {
            if (omp_get_thread_num() == 0) {
#pragma omp parallel num_threads(inner)
                {
                    atomic_fetch_add(&met, 1);
                    while (atomic_load(&met) < inner) {
                    }
                }
                atomic_store(&done, 1);
            } else {
                while (!atomic_load(&done)) {
                }
            }
        }
        helped += now() - begin > 0.9;
    }
    return nothing;
}

int main(int count, char **words) {
    witness_comity();
    if (count != 4) return 2;
    outer = atoi(words[2]);
    inner = atoi(words[3]);
    pthread_t t;
    if (strcmp(words[1], "first_thread") == 0)
        open_regions(NULL);
    else if (pthread_create(&t, NULL, open_regions, NULL) != 0 || pthread_join(t, NULL) != 0)
        return 2;
    CHECK(helped <= regions / 4);
    puts("all met");
    return report();
}
