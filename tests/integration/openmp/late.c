/* A program that sets variables before it uses OpenMP, as Python programs do before they import what needs it: the
 * drop-in, preloaded, has read the environment long before. */
#include "check.h"
#include <omp.h>

int main(void) {
    witness_comity();
    setenv("OMP_NUM_THREADS", "3", 1);
    setenv("OMP_SCHEDULE", "guided,5", 1);
    setenv("OMP_MAX_ACTIVE_LEVELS", "7", 1);
    setenv("OMP_PLACES", "threads", 1);
    setenv("OMP_MAX_TASK_PRIORITY", "6", 1);
    CHECK_EQUAL(omp_get_max_task_priority(), 6); /* the first use */
    CHECK_EQUAL(omp_get_place_num_procs(0), 1);
    CHECK_EQUAL(omp_get_max_threads(), 3);
    int threads = 0, chunk;
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    CHECK_EQUAL(threads, 3);
    omp_sched_t kind;
    omp_get_schedule(&kind, &chunk);
    CHECK_EQUAL(kind, omp_sched_guided);
    CHECK_EQUAL(chunk, 5);
    CHECK_EQUAL(omp_get_max_active_levels(), 7);
    setenv("OMP_NUM_THREADS", "4", 1); /* too late */
    CHECK_EQUAL(omp_get_max_threads(), 3);
    return report();
}
