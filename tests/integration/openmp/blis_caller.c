/* BLIS' regions have a hart for each of their threads, or one thread, so that they never wait for one without a hart.
 * argv[1]: how many there may be: of two harts, of a thread limit, of active levels. */
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

int blis_product(int threads);

/* The other hart may be about to sleep. */
static void expect(int threads, int expected) {
    int ranks = 0;
    for (int i = 0; i < 10000 && (ranks = blis_product(threads)) != expected; i++) usleep(1000);
    CHECK_EQUAL(ranks, expected);
}

int main(int argc, char **argv) {
    witness_comity();
    const int most = argc > 1 ? atoi(argv[1]) : 2;
    CHECK_EQUAL(blis_product(1), 1);
    expect(2, most);
    for (int i = 0; i < 20; i++) CHECK_EQUAL(blis_product(3), 1);
    int wrong = 0;
    for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(2) reduction(+ : wrong)
        {
            /* While both are busy there is no hart for another thread. */
#pragma omp barrier
            wrong += blis_product(2) > most;
            wrong += blis_product(7) != 1;
#pragma omp barrier
        }
    }
    CHECK_EQUAL(wrong, 0);
    /* Who is alone in a region has the other hart, too. */
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        expect(2, most);
    }
    CHECK_EQUAL(omp_in_parallel(), 0);
    return report();
}
