/* BLIS' regions have a hart for each of their threads, or one thread, so that they never wait for one without a hart.
 * argv[1]: how many there may be: of two harts, of a thread limit, of active levels; or crowd: callers at once, where
 * three threads may run; or cut: a region that gets fewer threads than it asks for. */
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int blis_product(int threads);
int blis_most_in_products(void);

/* The other hart may be about to sleep. */
static void expect(int threads, int expected) {
    int ranks = 0;
    for (int i = 0; i < 10000 && (ranks = blis_product(threads)) != expected; i++) usleep(1000);
    CHECK_EQUAL(ranks, expected);
}

static int crowd(void) {
    for (int i = 0; i < 200 || (blis_most_in_products() < 3 && i < 4000); i++) {
        usleep(5000); /* until the other harts are free again */
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
            blis_product(2);
        }
    }
    CHECK_EQUAL(blis_most_in_products(), 3);
    return report();
}

static int cut(void) {
    for (int i = 0; i < 100; i++) CHECK_EQUAL(blis_product(3), 1); /* OMP_DYNAMIC leaves two */
    return report();
}

int main(int argc, char **argv) {
    witness_comity();
    if (argc > 1 && strcmp(argv[1], "crowd") == 0) return crowd();
    if (argc > 1 && strcmp(argv[1], "cut") == 0) return cut();
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
