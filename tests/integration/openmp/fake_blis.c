/* Calls OpenMP as BLIS does, from a library whose name begins like BLIS': a region of as many threads as it was told,
 * which wait for each other in a loop of their own; it can do with one instead, but with no other number. */
#include <omp.h>
#include <stdlib.h>

/* How many threads there were. */
int blis_product(int threads) {
    int arrived = 0, ranks = 0;
#pragma omp parallel num_threads(threads)
    {
        const int here = omp_get_num_threads();
        if (here != threads && here != 1) abort();
        for (int meeting = 1; meeting <= 20; meeting++) {
            __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
            while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < meeting * here) __asm__ volatile("");
        }
        if (omp_get_thread_num() == 0) ranks = here;
    }
    __asm__ volatile("" ::: "memory"); /* after the call, so that it is no jump and its return address is here */
    return ranks;
}
