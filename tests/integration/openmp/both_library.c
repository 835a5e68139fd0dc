/* A library that gcc compiled, for a program that clang did: its constructs belong to the caller's region. */
#include <omp.h>

static long shared_sum;

/* By every thread of a region: an orphaned loop, a single, a critical section, a barrier. */
long gcc_sum_in_the_callers_region(int n) {
#pragma omp single
    shared_sum = 0;
    long mine = 0;
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < n; i++) mine += i;
#pragma omp critical
    shared_sum += mine;
#pragma omp barrier
    return shared_sum;
}

int gcc_thread_number(void) { return omp_get_thread_num(); }

int gcc_region_inside(int threads) {
    int seen = 0;
#pragma omp parallel num_threads(threads) reduction(+ : seen)
    seen += omp_get_ancestor_thread_num(1) >= 0 && omp_get_level() == 2;
    return seen;
}

void gcc_task(int *counter) {
#pragma omp task
    {
#pragma omp atomic
        ++*counter;
    }
}
