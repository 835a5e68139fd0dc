// A thread of the program's opens many regions that are hardly worth a second hart, so few are asked for. In some with
// the same code each rank waits for all others in a loop of its own, before a barrier and after it: they end, too. In
// the others each rank runs once, and the barrier holds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <omp.h>

enum { regions = 1200, most_ranks = 64 };

static void wait_for(atomic_int *met, int ranks) {
    atomic_fetch_add(met, 1);
    while (atomic_load(met) < ranks) {
    }
}

static void *opens_regions(void *argument) {
    (void)argument;
    static int runs[most_ranks];
    for (int i = 0; i < regions; ++i) {
        const int waits = i % 400 >= 397;
        atomic_int met = 0, met_again = 0, before = 0, wrong = 0;
        int ranks = 0;
#pragma omp parallel
        {
            const int rank = omp_get_thread_num();
            if (rank == 0) ranks = omp_get_num_threads();
            ++runs[rank];
            atomic_fetch_add(&before, 1);
            if (waits) wait_for(&met, omp_get_num_threads());
#pragma omp barrier
            if (atomic_load(&before) != omp_get_num_threads()) atomic_store(&wrong, 1);
            if (waits) wait_for(&met_again, omp_get_num_threads());
        }
        for (int r = 0; r < ranks; ++r)
            if (runs[r] != i + 1) wrong = 1;
        if (wrong || ranks != omp_get_max_threads()) {
            fprintf(stderr, "region %d of %d ranks\n", i, ranks);
            exit(1);
        }
    }
    return NULL;
}

int main(void) {
    pthread_t t;
    if (pthread_create(&t, NULL, opens_regions, NULL) != 0 || pthread_join(t, NULL) != 0) return 2;
    puts("all ended");
    return 0;
}
