/* Calls OpenMP as BLIS does, from a library whose name begins like BLIS': a region of as many threads as it was told,
 * which wait for each other in a loop of their own; it can do with one instead, but with no other number. */
#include <omp.h>
#include <stdlib.h>

static int in_products, most_in_products;
int blis_most_in_products(void) { return most_in_products; }

/* How many threads there were. */
int blis_product(int threads) {
    int arrived = 0, ranks = 0;
#pragma omp parallel num_threads(threads)
    {
        const int here = omp_get_num_threads();
        if (here != threads && here != 1) abort();
        const int now = __atomic_add_fetch(&in_products, 1, __ATOMIC_RELAXED);
        for (int most = most_in_products;
             now > most &&
             !__atomic_compare_exchange_n(&most_in_products, &most, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED);)
            ;
        for (int meeting = 1; meeting <= 20; meeting++) {
            __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
            while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < meeting * here) __asm__ volatile("");
        }
        __atomic_sub_fetch(&in_products, 1, __ATOMIC_RELAXED);
        if (omp_get_thread_num() == 0) ranks = here;
    }
    __asm__ volatile("" ::: "memory"); /* after the call, so that it is no jump and its return address is here */
    return ranks;
}
