/* Calls OpenMP as OpenBLAS does, from a library whose name begins like OpenBLAS': see
 * src/personality/openmp/blas_caller.hpp. ONLY_INTERFACE, ONLY_KERNELS: only the part that Debian has in libblas.so.3,
 * or only the rest. */
#include <omp.h>
#include <time.h>

/* After the call: so that it is no jump, and its return address is here. */
#define STAY __asm__ volatile("" ::: "memory")

#ifdef ONLY_INTERFACE
extern int blas_cpu_number;
#else
int blas_cpu_number = 1 << 20;
#endif

#ifndef ONLY_KERNELS
int blas_decision(void) {
    int count = omp_get_max_threads();
    STAY;
    return count < blas_cpu_number ? count : blas_cpu_number;
}

#endif

#ifndef ONLY_INTERFACE
void blas_set_threads(int count) {
    omp_set_num_threads(count);
    STAY;
}

int blas_in_parallel(void) {
    int answer = omp_in_parallel();
    STAY;
    return answer;
}

/* A region that lasts until *end. */
void blas_region_until(int *begun, int *end) {
#pragma omp parallel
    {
        __atomic_store_n(begun, 1, __ATOMIC_RELEASE);
        while (!__atomic_load_n(end, __ATOMIC_ACQUIRE)) {
            struct timespec moment = {0, 1000000};
            nanosleep(&moment, 0);
        }
    }
    STAY;
}

/* A region whose ranks wait for each other without a call, for ten seconds at most. How many there were, or 0. */
int blas_region(void) {
    int here = 0, ranks = 0, late = 0;
#pragma omp parallel
    {
        time_t end = time(0) + 10;
        __atomic_fetch_add(&here, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&here, __ATOMIC_ACQUIRE) < omp_get_num_threads())
            if (time(0) > end) {
                __atomic_store_n(&late, 1, __ATOMIC_RELAXED);
                break;
            }
        if (omp_get_thread_num() == 0) ranks = omp_get_num_threads();
    }
    return late ? 0 : ranks;
}
#endif
